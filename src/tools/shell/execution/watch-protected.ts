// A protected path that does not exist cannot be closed in a sandbox: mounting over it would create it on the real disk. So each is recorded before a
// command and compared afterwards, when none of its processes is left. What the command created there is renamed, so that no program of the user
// obeys it.
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { splitPath } from '../../files/paths.ts';
import { createToolRefusal, findErrorCode, type Refusal } from '../../refusal.ts';
import { moveAside, restoreParents } from './move-aside.ts';

export interface ProtectedPathWatch extends Disposable {
  /** Returns what was renamed, by its new name, and what could not be. */
  renameCreated(): Promise<{ moved: string[]; left: string[] }>;
}

/**
 * Commands running in one workspace at the same time, whatever their run. A file that one of them creates already exists for the next, and they could
 * remove it and put it back in turns. So each command is compared with the states that any of them has recorded. This process-wide map is the only
 * state of this module.
 */
interface ConcurrentCommands {
  count: number;
  recorded: Map<string, Set<string>>;
}
const byWorkspace = new Map<string, ConcurrentCommands>();

/** `root`: a real path. `names`: paths in it. The caller disposes of the watch after the last comparison. */
export function watchProtectedPaths(root: string, names: readonly string[]): { ok: true; watch: ProtectedPathWatch } | Refusal {
  // Includes the parents: a link in place of one would lead to another directory.
  const paths = [...new Set(names.flatMap((name) => splitPath(name).map((_, n, all) => all.slice(0, n + 1).join('/'))))];
  const before = paths.map((path) => [path, describeEntry(root, path)] as const);
  const unreadable = before.find(([, now]) => now === 'unreadable');
  if (unreadable !== undefined)
    return createToolRefusal(
      `${unreadable[0]} is protected but its directory cannot be read, so no command is started; make the directory readable`,
    );
  const commands = byWorkspace.get(root) ?? { count: 0, recorded: new Map() };
  byWorkspace.set(root, commands);
  commands.count++;
  for (const [path, now] of before) commands.recorded.set(path, (commands.recorded.get(path) ?? new Set()).add(now));
  // The sandbox closes existing files and directories; it cannot close links.
  const isCreated = (path: string, was: string, now: string) =>
    now !== was && (names.includes(path) ? was !== 'exists' && now !== 'missing' : now.startsWith('link'));
  return {
    ok: true,
    watch: {
      async renameCreated() {
        const moved: string[] = [];
        const left: string[] = [];
        for (const path of paths) {
          try {
            if (describeEntry(root, path) === 'unreadable') await restoreParents(root, path);
            const now = describeEntry(root, path);
            const recorded = [...(commands.recorded.get(path) as Set<string>)];
            if (now === 'unreadable') left.push(path);
            else if (recorded.some((was) => isCreated(path, was, now))) moved.push(...(await moveAside(root, path)));
          } catch {
            // Whatever the cause, the file is still there: the model is told to remove it.
            left.push(path);
          }
        }
        return { moved, left };
      },
      [Symbol.dispose]() {
        if (--commands.count === 0) byWorkspace.delete(root);
      },
    },
  };
}

/** A link counts as changed when it leads elsewhere, through whatever links on its way, or to something where it led to nothing. */
function describeEntry(root: string, path: string): string {
  const at = `${root}/${path}`;
  try {
    return lstatSync(at).isSymbolicLink() ? `link to ${readlinkSync(at)}, that is ${resolveLink(at)}` : 'exists';
  } catch (error) {
    return ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(findErrorCode(error)) ? 'missing' : 'unreadable';
  }
}

function resolveLink(link: string): string {
  try {
    return realpathSync(link);
  } catch (error) {
    return findErrorCode(error);
  }
}
