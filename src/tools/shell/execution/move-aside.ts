// Renames files that a command has created, and restores links that it has replaced. The command may have removed rights from the parent directories; they belong to the same user, so the
// rights can be restored.
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, open, realpath, rename, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { entryPath, type OpenDirectory, splitParent } from '../../files/confine.ts';
import { pathInside, splitPath } from '../../files/paths.ts';
import { findErrorCode } from '../../refusal.ts';

/** O_PATH, which needs no right to the directory itself. Linux only; elsewhere an unreadable directory must be opened by its owner first. */
const pathOnly = 0o10000000;
const flags = (process.platform === 'linux' ? pathOnly : constants.O_RDONLY) | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const ownerRights = 0o700;

/** Returns the new path; none if the file is gone or outside the workspace, which no command can reach. Rejects if it cannot be renamed. */
export async function moveAside(root: string, path: string): Promise<string[]> {
  const { parent, name } = splitParent(path);
  const real = pathInside([root], await realpath(join(root, parent)));
  if (real === null || name === null) return [];
  const dir = await openRestored(root, real);
  await using _ = dir.handle;
  const newName = `${name}.refused-${randomBytes(4).toString('hex')}`;
  try {
    await rename(entryPath(dir, name), entryPath(dir, newName));
    return [parent === '' ? newName : `${parent}/${newName}`];
  } catch (error) {
    if (findErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Creates a link where nothing is. Rejects if that is not possible. */
export async function restoreLink(root: string, path: string, target: string): Promise<void> {
  const { parent, name } = splitParent(path);
  const dir = await openRestored(root, parent);
  await using _ = dir.handle;
  await symlink(target, entryPath(dir, name as string));
}

/** Restores the owner's rights to the directories above `path`. */
export async function restoreParents(root: string, path: string): Promise<void> {
  const dir = await openRestored(root, splitParent(path).parent);
  await dir.handle.close();
}

/** Opens a directory name by name from the workspace on, without following links, and restores the owner's rights on the way. */
async function openRestored(root: string, path: string): Promise<OpenDirectory> {
  let dir: OpenDirectory = { handle: await open(root, flags), path: root };
  try {
    await restoreOwnerRights(dir);
    for (const name of splitPath(path)) {
      const handle = await open(entryPath(dir, name), flags);
      await dir.handle.close();
      dir = { handle, path: join(dir.path, name) };
      await restoreOwnerRights(dir);
    }
    return dir;
  } catch (error) {
    await dir.handle.close();
    throw error;
  }
}

async function restoreOwnerRights({ handle, path }: OpenDirectory): Promise<void> {
  const at = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path;
  const { mode } = await stat(at);
  if ((mode & ownerRights) === ownerRights) return;
  // If it fails, the next use of the directory fails and is reported.
  await chmod(at, (mode & 0o7777) | ownerRights).catch(() => {});
}
