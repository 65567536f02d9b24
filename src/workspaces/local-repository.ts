// Reads a repository of this machine without git: which objects it has, and what its HEAD, branches and tags are. Git itself would obey the
// configuration of the repository, which may be hostile.
import { constants } from 'node:fs';
import { open, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { RetinueError } from '../contract/error.ts';

export interface LocalRepository {
  /** The folder of the working tree; null for a bare repository. */
  top: string | null;
  /** The git folder: of the working tree, and the one that all working trees of the repository share. */
  gitDir: string;
  commonDir: string;
  objects: string;
}

const maxFileBytes = 16 * 1024 ** 2;

/** The repository that git would find from a folder upwards; null if there is none. Rejects with `workspace` if it is broken. */
export async function findLocalRepository(folder: string): Promise<LocalRepository | null> {
  for (let top = folder; ; top = dirname(top)) {
    const own = join(top, '.git');
    const found = await stat(own).catch(() => null);
    if (found) return openRepository(own, found.isFile(), top);
    if (await isGitDir(top)) return openRepository(top, false, null);
    if (dirname(top) === top) return null;
  }
}

async function openRepository(own: string, isPointer: boolean, top: string | null): Promise<LocalRepository> {
  const broken = () => new RetinueError('workspace', `the repository at ${top ?? own} is broken: git could not use it either`);
  const pointer = isPointer ? /^gitdir: (.+)$/m.exec((await readSmall(own)) ?? '')?.[1]?.trim() : '';
  if (pointer === undefined) throw broken();
  const gitDir = await realpath(isPointer ? resolve(dirname(own), pointer) : own).catch(() => null);
  if (gitDir === null || (await readSmall(join(gitDir, 'HEAD'))) === null) throw broken();
  const common = ((await readSmall(join(gitDir, 'commondir'))) ?? '').trim();
  const commonDir = await realpath(resolve(gitDir, common || '.')).catch(() => null);
  const objects = commonDir === null ? null : await realpath(join(commonDir, 'objects')).catch(() => null);
  if (commonDir === null || objects === null || !(await stat(objects)).isDirectory()) throw broken();
  return { top, gitDir, commonDir, objects };
}

async function isGitDir(folder: string): Promise<boolean> {
  const [head, objects, refs] = await Promise.all(['HEAD', 'objects', 'refs'].map((name) => stat(join(folder, name)).catch(() => null)));
  return head?.isFile() === true && objects?.isDirectory() === true && refs?.isDirectory() === true;
}

const hashPattern = /^([\da-f]{40}|[\da-f]{64})$/;

/** The object that a branch, a tag, a full hash or (without a name) HEAD names; null if there is none. */
export async function resolveRef(repository: LocalRepository, name: string | undefined): Promise<string | null> {
  if (name === undefined) return readRef(repository, 'HEAD', 0);
  const names = name.startsWith('refs/') ? [name] : [`refs/heads/${name}`, `refs/tags/${name}`, `refs/remotes/${name}`];
  for (const each of names) {
    const found = await readRef(repository, each, 0);
    if (found !== null) return found;
  }
  return hashPattern.test(name) ? name : null;
}

async function readRef(repository: LocalRepository, name: string, depth: number): Promise<string | null> {
  const { gitDir, commonDir } = repository;
  if (depth > 5 || name.split('/').includes('..')) return null;
  const text = ((await readSmall(join(gitDir, name))) ?? (await readSmall(join(commonDir, name))) ?? '').trim();
  if (hashPattern.test(text)) return text;
  const target = /^ref: (refs\/\S+)$/.exec(text)?.[1];
  if (target !== undefined) return readRef(repository, target, depth + 1);
  const packed = (await readSmall(join(commonDir, 'packed-refs'))) ?? '';
  const line = packed.split('\n').find((each) => each.endsWith(` ${name}`));
  const hash = line?.slice(0, line.indexOf(' ')) ?? '';
  return hashPattern.test(hash) ? hash : null;
}

/** The content of a regular file; null if there is none, or if it is too large. */
export async function readSmall(path: string): Promise<string | null> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const { size } = await file.stat().then((found) => (found.isFile() ? found : { size: maxFileBytes + 1 }));
      return size > maxFileBytes ? null : await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch {
    return null;
  }
}
