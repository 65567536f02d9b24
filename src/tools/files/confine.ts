import type { Stats } from 'node:fs';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, explain, kindOf, type Refusal, refuse } from '../refusal.ts';
import { closedAliases, inside, isClosed, isUnder, mayBeShared, segments, shown } from './paths.ts';

/**
 * Confinement of file tools to a workspace. Not a sandbox: it holds for what the process itself opens.
 *
 * 1. A path is first resolved, links included, to a real path that must lie inside the workspace and outside `.retinue`.
 * 2. The real path is then walked from the workspace's own descriptor, one name at a time, without following links, so that
 *    a link put there after step 1 is refused and not followed. What is checked and what is used is the same descriptor.
 *
 * On Linux every name is opened relative to the descriptor before it. Elsewhere it is opened by its full path: the last name
 * is still never followed, but a directory above it may be swapped in between.
 */

/** A real path inside the workspace; `root` is the workspace's own real path. The end of the path need not exist. */
export type Located = { ok: true; root: string; path: string } | Refusal;

/** An open directory. Whoever gets one closes it. */
export interface Dir {
  handle: FileHandle;
  path: string;
}

/** Deeper than any tree of a project: every name is looked at on its own, some of them more than once. */
const maxDepth = 256;

export async function locate(workspace: string, asked: string): Promise<Located> {
  if (asked.includes('\0')) return refuse('a path has no NUL characters');
  try {
    const root = await realpath(workspace);
    const path = inside([root, workspace], asked);
    if (path === null) return refuse(`${asked} is outside the workspace`);
    if (segments(path).length > maxDepth) return refuse(`a path has at most ${maxDepth} names`);
    const real = inside([root], await resolveLinks(root, path));
    if (real === null) return refuse(`${shown(path)} leads out of the workspace through a link`);
    if (isClosed(path) || isClosed(real) || (await isAliasOf(root, real, closedAliases))) return refuse('.retinue is closed to tools');
    return { ok: true, root, path: real };
  } catch (error) {
    return refuse(explain(error, asked));
  }
}

/** Whether the real path `path` is what one of `names` leads to through links, or lies below it. */
export async function isAliasOf(root: string, path: string, names: string[]): Promise<boolean> {
  for (const name of names) {
    const target = await realpath(join(root, name)).catch(() => null);
    const top = target === null ? null : inside([root], target);
    if (top !== null && isUnder(path, top)) return true;
  }
  return false;
}

/** Opens the directory at the real path `path`; with `create` it makes the directories that are missing on the way. */
export async function openDir(root: string, path: string, options: { create: boolean }): Promise<{ ok: true; dir: Dir } | Refusal> {
  let dir: Dir | null = null;
  try {
    dir = { handle: await open(root, directoryFlags), path: root };
    for (const name of segments(path)) {
      const handle = await openChild(dir, name, options.create);
      const above: Dir = dir;
      dir = { handle, path: join(above.path, name) };
      await above.handle.close();
    }
    return { ok: true, dir };
  } catch (error) {
    await dir?.handle.close();
    return refuse(explain(error, path));
  }
}

/** How to address `name` in an open directory. */
export function entry(dir: Dir, name: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${dir.handle.fd}/${name}` : join(dir.path, name);
}

export type OpenedFile = { ok: true; file: FileHandle; stats: Stats; path: string } | Refusal;

/** Opens a regular file for reading. A pipe or a device is refused without waiting for it. */
export async function openFile(workspace: string, asked: string): Promise<OpenedFile> {
  const located = await locate(workspace, asked);
  return located.ok ? openReal(located.root, located.path) : located;
}

/** The same for a real path. */
export async function openReal(root: string, path: string): Promise<OpenedFile> {
  const { parent, name } = split(path);
  if (name === null) return refuse(`${shown(path)} is a directory; list shows what is in it`);
  const opened = await openDir(root, parent, { create: false });
  if (!opened.ok) return opened;
  await using _ = opened.dir.handle;
  let file: FileHandle | null = null;
  try {
    file = await open(entry(opened.dir, name), fileFlags);
    const stats = await file.stat();
    const problem = problemOf(stats, path);
    if (problem === null) return { ok: true, file, stats, path };
    await file.close();
    return refuse(problem);
  } catch (error) {
    await file?.close();
    return refuse(explain(error, path));
  }
}

/** Why a file that is open is not read. */
function problemOf(stats: Stats, path: string): string | null {
  if (!stats.isFile()) return `${path} is ${kindOf(stats)}${stats.isDirectory() ? '; list shows what is in it' : ', not a file'}`;
  // Under more than one name it may also lie outside the workspace.
  return stats.nlink > 1 && !mayBeShared(path) ? `${path} has more than one name (hard links) and is not read` : null;
}

/** The directory of a path and its last name; the workspace itself has none. */
export function split(path: string): { parent: string; name: string | null } {
  const names = segments(path);
  return { name: names.at(-1) ?? null, parent: names.slice(0, -1).join('/') };
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const fileFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

async function openChild(dir: Dir, name: string, create: boolean): Promise<FileHandle> {
  const at = entry(dir, name);
  try {
    return await open(at, directoryFlags);
  } catch (error) {
    if (!create || codeOf(error) !== 'ENOENT') throw error;
  }
  await mkdir(at).catch((error) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
  return open(at, directoryFlags);
}

/** The real path of `path`. Names at its end that do not exist are kept as they are: the walk finds out what they have become. */
async function resolveLinks(root: string, path: string): Promise<string> {
  const names = segments(path);
  for (let known = names.length; ; known--) {
    try {
      return join(await realpath(join(root, ...names.slice(0, known))), ...names.slice(known));
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || known === 0) throw error;
    }
  }
}
