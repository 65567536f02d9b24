// Renaming what a command has made. It may have taken the rights to the folders above away: they are its user's, so they can be given back.
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, open, realpath, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Dir, entry, split } from '../../files/confine.ts';
import { inside, segments } from '../../files/paths.ts';
import { codeOf } from '../../refusal.ts';

/** Needs no right to the folder itself. Linux only; elsewhere a folder without the right to read is opened by its owner beforehand. */
const pathOnly = 0o10000000;
const flags = (process.platform === 'linux' ? pathOnly : constants.O_RDONLY) | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const ownersRights = 0o700;

/** Gives its new name; nothing where it is gone, or lies outside, where no command was. Rejects where it stays. */
export async function moveAside(root: string, path: string): Promise<string[]> {
  const { parent, name } = split(path);
  const real = inside([root], await realpath(join(root, parent)));
  if (real === null || name === null) return [];
  const dir = await openOwned(root, real);
  await using _ = dir.handle;
  const other = `${name}.refused-${randomBytes(4).toString('hex')}`;
  try {
    await rename(entry(dir, name), entry(dir, other));
    return [parent === '' ? other : `${parent}/${other}`];
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Gives the folders above `path` back to their owner. */
export async function reopen(root: string, path: string): Promise<void> {
  const dir = await openOwned(root, split(path).parent);
  await dir.handle.close();
}

/** The very folder, by its names from the workspace on: no link on the way is followed. */
async function openOwned(root: string, path: string): Promise<Dir> {
  let dir: Dir = { handle: await open(root, flags), path: root };
  try {
    await giveBack(dir);
    for (const name of segments(path)) {
      const handle = await open(entry(dir, name), flags);
      await dir.handle.close();
      dir = { handle, path: join(dir.path, name) };
      await giveBack(dir);
    }
    return dir;
  } catch (error) {
    await dir.handle.close();
    throw error;
  }
}

/** What cannot be given back shows when it is used. */
async function giveBack({ handle, path }: Dir): Promise<void> {
  const at = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path;
  const { mode } = await stat(at);
  if ((mode & ownersRights) !== ownersRights) await chmod(at, (mode & 0o7777) | ownersRights).catch(() => {});
}
