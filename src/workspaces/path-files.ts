// Reads and replaces single files of a workspace by path, without following links: another program may change the folder at the same time.
//
// On Linux each folder is opened from the descriptor of the one above. Elsewhere a folder above the file may be swapped in between.
import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readlink, rename, rmdir, symlink, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type FileState, isSameState } from '../contract/change-set.ts';

/** A file with its content. `other`: something that is no file and no link, such as a folder. */
export type PathContent = { kind: 'file'; state: FileState; content: Buffer } | { kind: 'missing' } | { kind: 'other'; what: string };

export interface FileContent {
  mode: FileState['mode'];
  content: Uint8Array;
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const maxFileBytes = 512 * 1024 ** 2;

export function hashBytes(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Rejects with system errors. */
export async function readPath(root: string, path: string): Promise<PathContent> {
  const parent = await openParent(root, path, false);
  if (!parent.ok) return parent.found;
  await using _ = parent.handle;
  return await readEntry(parent.at);
}

async function readEntry(at: string): Promise<PathContent> {
  const stats = await lstat(at).catch(ignoreMissing);
  if (!stats) return { kind: 'missing' };
  if (stats.isSymbolicLink()) return toFound('120000', await readlink(at, 'buffer'));
  if (!stats.isFile()) return { kind: 'other', what: stats.isDirectory() ? 'a folder' : 'not a file' };
  await using file = await open(at, readFlags);
  const opened = await file.stat();
  if (!opened.isFile()) return { kind: 'other', what: 'not a file' };
  if (opened.size > maxFileBytes) return { kind: 'other', what: 'too large' };
  return toFound((opened.mode & 0o100) === 0 ? '100644' : '100755', await file.readFile());
}

function toFound(mode: FileState['mode'], content: Buffer): PathContent {
  return { kind: 'file', content, state: { mode, hash: hashBytes(content), bytes: content.length } };
}

/** The state that a change knows of; null if there is no file. */
export function findFileState(found: PathContent): FileState | null {
  return found.kind === 'file' ? found.state : null;
}

export interface Replacement {
  /** Null: there is no file. */
  before: FileState | null;
  /** Null: the file is removed, with folders that become empty. */
  after: FileContent | null;
  /** Names the temporary file, so that it can be found after a crash. */
  key?: string;
  /** Called when only the path itself has still to be replaced. */
  onWritten?: () => void;
}

/** Replaces what is at `path` if it is still `before`. Returns whether it was replaced. Rejects with system errors, and leaves nothing behind then. */
export async function replacePath(root: string, path: string, { before, after, key, onWritten }: Replacement): Promise<boolean> {
  const parent = await openParent(root, path, after !== null);
  if (!parent.ok) return after === null && before === null;
  await using _ = parent.handle;
  const { at } = parent;
  const temporary = join(at, '..', temporaryName(key ?? randomBytes(8).toString('hex'), path));
  try {
    if (after !== null) await writeNew(temporary, after, await currentMode(at));
    const found = await readEntry(at);
    if (found.kind === 'other' || !isSameState(findFileState(found), before)) return false;
    onWritten?.();
    if (after !== null) await rename(temporary, at);
    else if (before !== null) await unlink(at);
  } catch (error) {
    if (before === null) await removeEmptyFolders(root, path, parent.created);
    throw error;
  } finally {
    if (after !== null) await unlink(temporary).catch(() => {});
  }
  if (after === null) await removeEmptyFolders(root, path);
  return true;
}

function temporaryName(key: string, path: string): string {
  return `.retinue-${hashBytes(Buffer.from(`${key}\0${path}`)).slice(0, 16)}.tmp`;
}

/** The temporary file that a killed process left for this path and key; null if there is none. `remove`: deletes it. Never rejects. */
export async function findTemporary(root: string, path: string, { key, remove }: { key: string; remove: boolean }): Promise<string | null> {
  const parent = await openParent(root, path, false).catch(() => null);
  if (!parent?.ok) return null;
  await using _ = parent.handle;
  const name = temporaryName(key, path);
  const isFound = await (remove ? unlink : lstat)(join(parent.at, '..', name)).then(
    () => true,
    () => false,
  );
  return isFound ? join(dirname(path), name) : null;
}

/** The permissions of the file that is replaced, so that only the executable bits change. */
async function currentMode(at: string): Promise<number | null> {
  const stats = await lstat(at).catch(() => null);
  return stats?.isFile() ? stats.mode & 0o777 : null;
}

async function writeNew(temporary: string, { mode, content }: FileContent, current: number | null): Promise<void> {
  if (mode === '120000') return symlink(Buffer.from(content), temporary);
  const isExecutable = mode === '100755';
  await using file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o666);
  await file.writeFile(content);
  const permissions = current ?? (await file.stat()).mode & 0o777;
  // Executable for those who may read it, as git does.
  await file.chmod(isExecutable ? permissions | ((permissions & 0o444) >> 2) : permissions & ~0o111);
}

/** Removes the folders above a path, the nearest first, as long as they are empty. At most `most` of them. */
async function removeEmptyFolders(root: string, path: string, most = Number.POSITIVE_INFINITY): Promise<void> {
  const names = path.split('/').slice(0, -1);
  for (let n = 0; names.length > 0 && n < most; names.pop(), n++) {
    const parent = await openParent(root, names.join('/'), false);
    if (!parent.ok) return;
    await using _ = parent.handle;
    const isRemoved = await rmdir(parent.at).then(
      () => true,
      () => false,
    );
    if (!isRemoved) return;
  }
}

type Parent = { ok: true; handle: FileHandle; at: string; created: number } | { ok: false; found: PathContent };

/** Opens the folder of a path. `at`: how the path is reached from there. `created`: how many folders had to be made. */
async function openParent(root: string, path: string, create: boolean): Promise<Parent> {
  const names = path.split('/');
  if (names.some((name) => name === '' || name === '.' || name === '..')) throw new Error(`not a path in a workspace: ${path}`);
  let handle = await open(root, directoryFlags);
  let folder = root;
  let created = 0;
  for (const [index, name] of names.entries()) {
    const at = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}/${name}` : join(folder, name);
    if (index === names.length - 1) return { ok: true, handle, at, created };
    try {
      let next = await open(at, directoryFlags).catch((error: unknown) => (create ? ignoreMissing(error) : Promise.reject(error)));
      if (next === null) {
        if (await makeFolder(at)) created++;
        next = await open(at, directoryFlags);
      }
      await handle.close();
      handle = next;
      folder = join(folder, name);
    } catch (error) {
      await handle.close();
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return { ok: false, found: { kind: 'missing' } };
      if (code === 'ENOTDIR' || code === 'ELOOP')
        return { ok: false, found: { kind: 'other', what: `below ${names.slice(0, index + 1).join('/')}, which is no folder` } };
      throw error;
    }
  }
  throw new Error('unreachable');
}

/** False if another program has just made it. */
async function makeFolder(at: string): Promise<boolean> {
  try {
    await mkdir(at);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function ignoreMissing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}
