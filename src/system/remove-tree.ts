// Deletes a folder that a hostile program may have filled. Unlike `fs.rm` it also deletes folders without permissions, names that are not UTF-8, and
// folders nested deeper than a path can be long.
//
//  1. A symbolic link is deleted, never followed.
//  2. No process may change the folder meanwhile: whoever calls this has ended the processes that could.
import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { chmod, lstat, readdir, rename, rmdir, unlink } from 'node:fs/promises';

/** Well below PATH_MAX, so that an entry of a folder with such a path can be named too. */
const maxPathBytes = 2048;
/** Files that are deleted at the same time. */
const atOnce = 32;
const separator = Buffer.from('/');

type Name = Buffer<ArrayBufferLike>;

/** Does nothing if there is no such folder. Rejects with the system's error if something cannot be deleted. */
export async function removeTree(path: string): Promise<void> {
  const top = Buffer.from(path);
  const stats = await ignoreMissing(lstat(top));
  if (stats === undefined) return;
  if (!stats.isDirectory()) return ignoreMissing(unlink(top));
  /** Folders to delete; those in a folder come after it. */
  const pending = [{ folder: top as Name, isRead: false }];
  for (let next = pending.at(-1); next !== undefined; next = pending.at(-1)) {
    if (next.isRead) {
      await ignoreMissing(rmdir(next.folder));
      pending.pop();
      continue;
    }
    next.isRead = true;
    for (const folder of await emptyFolder(next.folder)) pending.push({ folder: await shorten(folder, top), isRead: false });
  }
}

/** Deletes everything in a folder but the folders, which it returns. */
async function emptyFolder(folder: Name): Promise<Name[]> {
  const entries = (await ignoreMissing(readEntries(folder))) ?? [];
  const [folders, files]: [Name[], Name[]] = [[], []];
  for (const entry of entries) (entry.isDirectory() ? folders : files).push(Buffer.concat([folder, separator, entry.name]));
  for (let n = 0; n < files.length; n += atOnce) await Promise.all(files.slice(n, n + atOnce).map((file) => ignoreMissing(unlink(file))));
  return folders;
}

async function readEntries(folder: Name): Promise<Dirent<Name>[]> {
  // Its entries can be deleted only with the right to write.
  await chmod(folder, 0o700);
  return readdir(folder, { withFileTypes: true, encoding: 'buffer' });
}

/** A folder whose path gets too long is moved to the top. */
async function shorten(folder: Name, top: Name): Promise<Name> {
  if (folder.length <= maxPathBytes) return folder;
  const moved = Buffer.concat([top, separator, Buffer.from(`moved-${randomBytes(8).toString('hex')}`)]);
  // Moving a folder changes its entry `..`.
  await chmod(folder, 0o700);
  await rename(folder, moved);
  return moved;
}

async function ignoreMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
