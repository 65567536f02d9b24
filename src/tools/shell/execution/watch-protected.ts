// Protected paths that do not exist cannot be closed in a sandbox: a mount would make them on the real disk. So they are looked at before and
// after a command, when none of its processes is left, and what it has made there is renamed, so that no program of the user's obeys it.
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { segments } from '../../files/paths.ts';
import { codeOf, type Refusal, refuse } from '../../refusal.ts';
import { moveAside, reopen } from './move-aside.ts';

export interface PlantedWatch extends Disposable {
  /** Gives what was renamed, as new names, and what could not be. */
  moveAway(): Promise<{ moved: string[]; left: string[] }>;
}

/**
 * Commands that are at work in one workspace at the same time, of whatever run. What one has made is to the next "already there", and could be
 * taken away and put back by them in turns: so each is held against all that any of them has found. The process is what they share, hence the
 * only state of this module.
 */
interface Round {
  open: number;
  found: Map<string, Set<string>>;
}
const rounds = new Map<string, Round>();

/** `root`: a real path. `names`: paths in it. Whoever gets a watch disposes of it, after the last look. */
export function watchForPlanted(root: string, names: readonly string[]): { ok: true; watch: PlantedWatch } | Refusal {
  // Also what is on the way to one: a link in its place would lead to another folder.
  const paths = [...new Set(names.flatMap((name) => segments(name).map((_, n, all) => all.slice(0, n + 1).join('/'))))];
  const before = paths.map((path) => [path, sight(root, path)] as const);
  const closed = before.find(([, now]) => now === 'closed');
  if (closed !== undefined)
    return refuse(`${closed[0]} is protected and cannot be looked at: no command is started until its folder can be entered`);
  const round = rounds.get(root) ?? { open: 0, found: new Map() };
  rounds.set(root, round);
  round.open++;
  for (const [path, now] of before) round.found.set(path, (round.found.get(path) ?? new Set()).add(now));
  // What was there as a file or a folder was closed to the command; links cannot be.
  const isPlanted = (path: string, was: string, now: string) =>
    now !== was && (names.includes(path) ? was !== 'something' && now !== 'nothing' : now.startsWith('link'));
  return {
    ok: true,
    watch: {
      async moveAway() {
        const moved: string[] = [];
        const left: string[] = [];
        for (const path of paths) {
          try {
            if (sight(root, path) === 'closed') await reopen(root, path);
            const now = sight(root, path);
            const found = [...(round.found.get(path) as Set<string>)];
            if (now === 'closed') left.push(path);
            else if (found.some((was) => isPlanted(path, was, now))) moved.push(...(await moveAside(root, path)));
          } catch {
            left.push(path);
          }
        }
        return { moved, left };
      },
      [Symbol.dispose]() {
        if (--round.open === 0) rounds.delete(root);
      },
    },
  };
}

/** A link is another one when it leads elsewhere, by whatever link on its way, or to something where it led to nothing. */
function sight(root: string, path: string): string {
  const at = `${root}/${path}`;
  try {
    return lstatSync(at).isSymbolicLink() ? `link to ${readlinkSync(at)}, that is ${endOf(at)}` : 'something';
  } catch (error) {
    return ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error)) ? 'nothing' : 'closed';
  }
}

function endOf(link: string): string {
  try {
    return realpathSync(link);
  } catch (error) {
    return codeOf(error);
  }
}
