// Where the files of a run come from, for commands that start or queue runs.
import { RetinueError } from '../../contract/error.ts';
import type { Io } from '../io.ts';
import type { Args, Flag } from './parse-args.ts';

export const sourceFlags: Flag[] = [
  {
    name: 'repository',
    value: 'URL',
    help: 'work on a clean checkout of this git repository: an address or a path; the result is a patch',
  },
  { name: 'ref', value: 'NAME', help: 'the branch, tag or commit of --repository (default: its HEAD)' },
];

/** The repository of a brief: an address of git, or a path of this machine. Null without one. */
export function parseSource(args: Args, io: Io): { repository: { url?: string; path?: string; ref?: string } } | null {
  const [given, ref] = [args.value('repository'), args.value('ref')];
  if (given === undefined) {
    if (ref !== undefined) throw new RetinueError('usage', '--ref needs --repository');
    return null;
  }
  const isAddress = /^[a-z+]+:\/\//.test(given) || /^[^/]+:/.test(given) || given.startsWith('-');
  return { repository: { ...(isAddress ? { url: given } : { path: io.resolvePath(given) }), ...(ref !== undefined && { ref }) } };
}
