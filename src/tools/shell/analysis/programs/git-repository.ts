// The repository that git would use in a folder. Either it is exactly the one that git finds, or the answer is that this is uncertain: git takes other
// folders than one would expect if a `.git` is damaged, or if a folder looks like a repository itself.
import { lstatSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export interface GitRepository {
  /** The folder with `.git`: the top of the working tree. The same as `own` if git only fetches into the repository. */
  top: string;
  /** Holds HEAD and the index. */
  own: string;
  /** Holds the configuration and the hooks; differs from `own` in a linked worktree. */
  shared: string;
}

/** `problem`: why git may use another repository than it seems, or one that is not understood. */
export type FoundRepository = { repository: GitRepository | null; problem: null } | { repository: null; problem: string };

const maxPointerBytes = 4_096;
const headPattern = /^(ref: refs\/[^\s\0]+|[0-9a-f]{40}|[0-9a-f]{64})\n?$/;

/** Searches from `folder` upwards, as git does. */
export function findRepository(folder: string): FoundRepository {
  for (let top = folder; ; top = dirname(top)) {
    if (lstat(join(top, '.git')) !== null) return readRepository(top);
    if (looksBare(top)) return uncertain(`\`${top}\` looks like a repository itself`);
    if (dirname(top) === top) return { repository: null, problem: null };
  }
}

/** The repository whose working tree is `top`. Its `.git` exists. */
export function readRepository(top: string): FoundRepository {
  const dotGit = join(top, '.git');
  const stats = stat(dotGit);
  if (stats?.isDirectory()) {
    if (lstat(join(dotGit, 'commondir')) !== null) return uncertain('`.git` has a file `commondir`');
    return checkFolders({ top, own: dotGit, shared: dotGit });
  }
  const pointer = readLine(dotGit);
  if (!pointer?.startsWith('gitdir: ')) return uncertain('`.git` is neither a folder nor a file that names one');
  const own = resolve(top, pointer.slice('gitdir: '.length));
  if (lstat(join(own, 'commondir')) === null) return checkFolders({ top, own, shared: own });
  const shared = readLine(join(own, 'commondir'));
  return shared === null ? uncertain('its file `commondir` is not understood') : checkFolders({ top, own, shared: resolve(own, shared) });
}

/** Anything that git may take for a repository without `.git`. */
export function looksBare(folder: string): boolean {
  const has = (name: string) => lstat(join(folder, name)) !== null;
  return has('HEAD') && (has('commondir') || (has('objects') && has('refs')));
}

function checkFolders(repository: GitRepository): FoundRepository {
  const head = readSmall(join(repository.own, 'HEAD'));
  const isFolder = (name: string) => stat(join(repository.shared, name))?.isDirectory() === true;
  if (head === null || !headPattern.test(head) || !isFolder('objects') || !isFolder('refs'))
    return uncertain('`.git` is not a valid repository');
  return { repository, problem: null };
}

function uncertain(problem: string): FoundRepository {
  return { repository: null, problem };
}

/** The only line of a file; null if it has more, is empty or has characters that paths do not have. */
function readLine(file: string): string | null {
  const text = readSmall(file)?.replace(/\n$/, '') ?? '';
  return text === '' || /\p{C}|\s$/u.test(text) ? null : text;
}

function readSmall(file: string): string | null {
  return (stat(file)?.size ?? 0) > maxPointerBytes ? null : readFileOrNull(file);
}

/** Null if it is missing, special or unreadable. */
export function readFileOrNull(file: string): string | null {
  try {
    return statSync(file).isFile() ? readFileSync(file, 'utf8') : null;
  } catch {
    return null;
  }
}

/** Null if it is missing or cannot be looked at, in which case git cannot use it either. */
export function lstat(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch {
    return null;
  }
}

export function stat(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

/** Whether both paths lead to the same existing folder. */
export function isSameFolder(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}
