// Protected paths that do not exist cannot be closed in a sandbox: a mount would make them on the real disk. So they are looked at before and
// after a command, when none of its processes is left, and what it has made there is renamed, so that no program of the user's obeys it.
import { randomBytes } from 'node:crypto';
import { lstatSync, readlinkSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { entry, openDir, split } from '../confine.ts';
import { segments } from '../paths.ts';

export interface PlantedWatch {
  /** Gives what was renamed, as new names. */
  moveAway(): Promise<string[]>;
}

/** `root`: a real path. `names`: paths in it. */
export function watchForPlanted(root: string, names: readonly string[]): PlantedWatch {
  // Also what is on the way to one: a link in its place would lead to another folder.
  const paths = [...new Set(names.flatMap((name) => segments(name).map((_, n, all) => all.slice(0, n + 1).join('/'))))];
  const before = new Map(paths.map((path) => [path, sight(root, path)]));
  // What was there as a file or a folder was closed to the command; links cannot be.
  const isPlanted = (path: string, was: string, now: string) =>
    now !== was && (names.includes(path) ? was !== 'something' && now !== 'nothing' : now.startsWith('link'));
  return {
    async moveAway() {
      const moved: string[] = [];
      for (const path of paths) {
        if (!isPlanted(path, before.get(path) as string, sight(root, path))) continue;
        const name = await moveOne(root, path);
        if (name !== null) moved.push(name);
      }
      return moved;
    },
  };
}

function sight(root: string, path: string): string {
  try {
    const at = `${root}/${path}`;
    return lstatSync(at).isSymbolicLink() ? `link to ${readlinkSync(at)}` : 'something';
  } catch {
    return 'nothing';
  }
}

/** In the very folder that was looked at: no link on the way is followed. */
async function moveOne(root: string, path: string): Promise<string | null> {
  const { parent, name } = split(path);
  const opened = await openDir(root, parent, { create: false });
  if (!opened.ok || name === null) return null;
  await using _ = opened.dir.handle;
  const other = `${name}.refused-${randomBytes(4).toString('hex')}`;
  try {
    await rename(entry(opened.dir, name), entry(opened.dir, other));
    return parent === '' ? other : `${parent}/${other}`;
  } catch {
    return null;
  }
}
