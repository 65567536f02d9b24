// Finds the workspace of a command: the folder given with -C, otherwise the git repository around the current folder, otherwise the current
// folder. Every command below a repository so uses the same configuration and database.
import { lstatSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { resolveDirectory } from './files.ts';
import { type Env, homeFolder } from './user-folders.ts';

export interface FoundWorkspace {
  /** A real path. */
  path: string;
  /** `git`: the root of the repository around the current folder, which is another folder. */
  from: 'flag' | 'git' | 'current folder';
}

/** Throws `usage` if the folder of the flag does not exist. */
export function findWorkspace(flag: string | undefined, { cwd, env }: { cwd: string; env: Env }): FoundWorkspace {
  if (flag !== undefined) return { path: resolveDirectory(cwd, flag), from: 'flag' };
  const path = resolveDirectory(cwd, '.');
  const root = findRepositoryRoot(path, env);
  return root === null || root === path ? { path, from: 'current folder' } : { path: root, from: 'git' };
}

/**
 * The nearest folder above with a `.git` of its own, as git finds it: a repository, a submodule or a linked worktree. Null if there is none.
 * - A folder that contains the user's home is never one: a repository of dotfiles must not make the whole home a workspace.
 * - A repository of another user is none, unless the folder itself is theirs: anyone can create `/tmp/.git`.
 * - Inside a bare repository or a `.git` folder there is no work tree.
 */
export function findRepositoryRoot(folder: string, env: Env): string | null {
  const home = realPathOf(homeFolder(env));
  const owners = [process.getuid?.(), statOf(folder)?.uid];
  for (let at = folder; ; at = dirname(at)) {
    if (contains(at, home) || isGitFolder(at)) return null;
    if (hasGitEntry(at)) return [at, join(at, '.git')].every((path) => owners.includes(lstatOf(path)?.uid)) ? at : null;
    if (dirname(at) === at) return null;
  }
}

function contains(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** A repository's own folder, or the file of a submodule or linked worktree that names it. */
function hasGitEntry(folder: string): boolean {
  const entry = join(folder, '.git');
  const stat = statOf(entry);
  if (stat?.isDirectory()) return isGitFolder(entry);
  return stat?.isFile() === true && stat.size < 65_536 && readFileSync(entry, 'utf8').startsWith('gitdir: ');
}

function isGitFolder(folder: string): boolean {
  const kind = (name: string) => statOf(join(folder, name));
  return kind('HEAD')?.isFile() === true && kind('objects')?.isDirectory() === true && kind('refs')?.isDirectory() === true;
}

function statOf(path: string): Stats | undefined {
  return readOrUndefined(() => statSync(path));
}

function lstatOf(path: string): Stats | undefined {
  return readOrUndefined(() => lstatSync(path));
}

function realPathOf(path: string): string {
  return readOrUndefined(() => realpathSync(path)) ?? path;
}

/** A folder that cannot be looked into is like one that does not exist. */
function readOrUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
