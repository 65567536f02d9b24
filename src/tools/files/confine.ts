// Confines file tools to a workspace. Not a sandbox: it covers only what this process itself opens.
//
// 1. A path is first resolved, links included, to a real path that must be inside the workspace and outside `.retinue`.
// 2. The real path is then opened name by name from the descriptor of the workspace, without following links, so that a link created after step 1 is
//    refused and not followed. The descriptor that is checked is the descriptor that is used.
//
// On Linux each name is opened relative to the previous descriptor. Elsewhere it is opened by its full path: the last name is still never followed, but
// a directory above it may be swapped in between.
import type { Stats } from 'node:fs';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { mayHaveHardLinks } from '../../text/package-files.ts';
import { createToolRefusal, describeKind, explainFileError, findErrorCode, type Refusal } from '../refusal.ts';
import { closedAliases, displayPath, isClosed, isUnder, pathInside, splitPath } from './paths.ts';

/** A real path inside the workspace; `root` is the real path of the workspace. The end of the path need not exist. */
export type LocatedPath = { ok: true; root: string; path: string } | Refusal;

/** The caller closes the handle. */
export interface OpenDirectory {
  handle: FileHandle;
  path: string;
}

/** Deeper than any project. Bounds the work, because each name is checked separately, some more than once. */
const maxDepth = 256;

export async function locatePath(workspace: string, asked: string): Promise<LocatedPath> {
  if (asked.includes('\0')) return createToolRefusal('a path must not contain NUL characters');
  try {
    const root = await realpath(workspace);
    const path = pathInside([root, workspace], asked);
    if (path === null) return createToolRefusal(`${asked} is outside the workspace`);
    if (splitPath(path).length > maxDepth) return createToolRefusal(`a path may have at most ${maxDepth} names`);
    const real = pathInside([root], await resolveExistingLinks(root, path));
    if (real === null) return createToolRefusal(`${displayPath(path)} leads out of the workspace through a link`);
    if (isClosed(path) || isClosed(real) || (await isAliasOf(root, real, closedAliases)))
      return createToolRefusal('.retinue is closed to tools');
    return { ok: true, root, path: real };
  } catch (error) {
    return createToolRefusal(explainFileError(error, asked));
  }
}

/** Where a tool may read: in the workspace, and in folders that the owner has added (`--add-dir`). */
export interface ReadableFolders {
  workspace: string;
  /** Real paths. */
  readable?: readonly string[] | undefined;
}

/** `prefix` precedes `path` where it is shown: empty in the workspace, so that paths of added folders are absolute. */
export type ReadablePath = { ok: true; root: string; path: string; prefix: string } | Refusal;

/** Like `locatePath`, also for folders that the owner has added. Each folder confines its own paths: links do not lead from one to another. */
export async function locateReadable({ workspace, readable = [] }: ReadableFolders, asked: string): Promise<ReadablePath> {
  const located = await locatePath(workspace, asked);
  if (located.ok) return { ...located, prefix: '' };
  const path = resolve(workspace, asked);
  const folder = readable.find((each) => pathInside([each], path) !== null);
  if (folder === undefined) return located;
  const found = await locatePath(folder, path);
  return found.ok ? { ...found, prefix: found.root.endsWith('/') ? found.root : `${found.root}/` } : found;
}

/** Whether the real path `path` is the target of one of `names`, which may be links, or below it. */
export async function isAliasOf(root: string, path: string, names: string[]): Promise<boolean> {
  for (const name of names) {
    const target = await realpath(join(root, name)).catch(() => null);
    const top = target === null ? null : pathInside([root], target);
    if (top !== null && isUnder(path, top)) return true;
  }
  return false;
}

/** Opens the directory at the real path `path`. With `create`, missing directories are created. */
export async function openDirectory(
  root: string,
  path: string,
  options: { create: boolean },
): Promise<{ ok: true; dir: OpenDirectory } | Refusal> {
  let dir: OpenDirectory | null = null;
  try {
    dir = { handle: await open(root, directoryFlags), path: root };
    for (const name of splitPath(path)) {
      const handle = await openChild(dir, name, options.create);
      const above: OpenDirectory = dir;
      dir = { handle, path: join(above.path, name) };
      await above.handle.close();
    }
    return { ok: true, dir };
  } catch (error) {
    await dir?.handle.close();
    return createToolRefusal(explainFileError(error, path));
  }
}

/** The path of `name` in an open directory. */
export function entryPath(dir: OpenDirectory, name: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${dir.handle.fd}/${name}` : join(dir.path, name);
}

export type OpenedFile = { ok: true; file: FileHandle; stats: Stats; path: string } | Refusal;

/** Opens a regular file that may be read. `shown` is its path for messages and rules. */
export async function openReadable(folders: ReadableFolders, asked: string): Promise<(OpenedFile & { ok: true; shown: string }) | Refusal> {
  const located = await locateReadable(folders, asked);
  if (!located.ok) return located;
  const opened = await openRealPath(located.root, located.path);
  return opened.ok ? { ...opened, shown: located.prefix + opened.path } : opened;
}

/** Opens a regular file for reading. Pipes and devices are refused without blocking. */
export async function openFile(workspace: string, asked: string): Promise<OpenedFile> {
  const located = await locatePath(workspace, asked);
  return located.ok ? openRealPath(located.root, located.path) : located;
}

/** The same for a path that is already real. */
export async function openRealPath(root: string, path: string): Promise<OpenedFile> {
  const { parent, name } = splitParent(path);
  if (name === null) return createToolRefusal(`${displayPath(path)} is a directory; use list to see its entries`);
  const opened = await openDirectory(root, parent, { create: false });
  if (!opened.ok) return opened;
  await using _ = opened.dir.handle;
  let file: FileHandle | null = null;
  try {
    file = await open(entryPath(opened.dir, name), fileFlags);
    const stats = await file.stat();
    const problem = readProblem(stats, path);
    if (problem === null) return { ok: true, file, stats, path };
    await file.close();
    return createToolRefusal(problem);
  } catch (error) {
    await file?.close();
    return createToolRefusal(explainFileError(error, path));
  }
}

/** Returns why an open file must not be read, or null. */
function readProblem(stats: Stats, path: string): string | null {
  if (!stats.isFile()) return `${path} is ${describeKind(stats)}${stats.isDirectory() ? '; use list to see its entries' : ', not a file'}`;
  // One of its other names may be outside the workspace.
  return stats.nlink > 1 && !mayHaveHardLinks(path) ? `${path} has several hard links and is not read` : null;
}

/** The directory of a path and its last name, which is null for the workspace itself. */
export function splitParent(path: string): { parent: string; name: string | null } {
  const names = splitPath(path);
  return { name: names.at(-1) ?? null, parent: names.slice(0, -1).join('/') };
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const fileFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

async function openChild(dir: OpenDirectory, name: string, create: boolean): Promise<FileHandle> {
  const at = entryPath(dir, name);
  try {
    return await open(at, directoryFlags);
  } catch (error) {
    if (!create || findErrorCode(error) !== 'ENOENT') throw error;
  }
  await mkdir(at).catch((error) => {
    if (findErrorCode(error) !== 'EEXIST') throw error;
  });
  return open(at, directoryFlags);
}

/** The real path of `path`. Missing names at its end are kept: opening them later shows what they have become. */
async function resolveExistingLinks(root: string, path: string): Promise<string> {
  const names = splitPath(path);
  for (let known = names.length; ; known--) {
    try {
      return join(await realpath(join(root, ...names.slice(0, known))), ...names.slice(known));
    } catch (error) {
      if (findErrorCode(error) !== 'ENOENT' || known === 0) throw error;
    }
  }
}
