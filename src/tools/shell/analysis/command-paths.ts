// Paths in the words of commands. Any word may be a path for some program, so the check is on the text alone: a word that can only mean a path
// outside the workspace makes the command unsafe, and a plain word counts as a path inside.
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { pathSubjects } from '../../files/path-subjects.ts';
import { displayPath, isClosed, pathInside } from '../../files/paths.ts';
import { denyCommand } from './deny-command.ts';

/** Devices without content of their own. */
const devices = /^\/dev\/(null|zero|full|random|urandom|stdin|stdout|stderr|fd\/\d+)$/;
const address = /^(https?|git|ssh|wss?):\/\/(?!.*(?:^|\/)\.\.(?:\/|$))[^\s]*$/i;

const maxBases = 64;

/** Where the paths of a command line are resolved. */
export interface PathScope {
  workspace: string;
  /** The workspace, and its real path where that differs. */
  roots: string[];
  /** Directories that relative paths may start from: the workspace and every directory the command line changes to. */
  bases: string[];
  /** Whether the command line changes the directory. */
  changesDirectory: boolean;
  /** Whether the command line starts one command, once. */
  isSingleCommand: boolean;
  /** Whether the command runs in a sandbox, which enforces rules about paths and contains programs that git starts. */
  isConfined: boolean;
}

/** `directories`: the targets of its `cd` commands, in order. */
export function createPathScope(
  workspace: string,
  { directories, ...command }: { directories: string[] } & Pick<PathScope, 'isSingleCommand' | 'isConfined'>,
): PathScope {
  let real = workspace;
  try {
    real = realpathSync(workspace);
  } catch {
    // A workspace that does not exist: no command can be started in it.
  }
  const roots = [...new Set([workspace, real])];
  return { workspace, roots, bases: directories.reduce(enterDirectory, [real]), changesDirectory: directories.length > 0, ...command };
}

export function isDevice(path: string): boolean {
  return devices.test(path);
}

/** Returns why a word names something outside the workspace or closed, or null. */
export function findOutsidePath(word: string, scope: PathScope): string | null {
  if (address.test(word) && !existsInScope(word.split('/', 3).join('/'), scope)) return null;
  if (/^file:/i.test(word)) return 'it names a file by its address';
  const parts = new Set(findPossiblePaths(word));
  for (const part of parts) {
    if (isDevice(part)) continue;
    const path = /^~/.test(part) ? null : pathInside(scope.roots, part);
    if (path === null) return `\`${part}\` is outside the workspace`;
    if (isClosed(path)) return `\`${part}\` is closed to tools`;
  }
  for (const part of parts.add(word)) {
    const problem = checkLinks(part, scope);
    if (problem !== null) return problem;
  }
  return null;
}

/** Parts of a word that may be paths: between `=`, `:`, `@` and the like, and attached to a flag (`-f/etc/passwd`, `-flink`). */
export function findPossiblePaths(word: string): string[] {
  const parts = word.split(/[=:,@;|<>&()'"`{}\s\\]+/).filter((part) => part !== '');
  // Any `/` that is not preceded by a name begins a path.
  const inner = [...word.matchAll(/(?<![\p{L}\p{N}_.\-+~^%#\]*?/])\/[^\s'"=:,;|<>&()]*/gu)].map(([path]) => path);
  const attached = /^-[A-Za-z0-9]+(\/.*|\.\.(?:\/.*)?)$/.exec(word)?.[1];
  // The value may be attached to any letter of a cluster.
  const touching = /^-[^-]/.test(word) ? Array.from({ length: Math.min(word.length - 2, 8) }, (_, index) => word.slice(index + 2)) : [];
  return [...parts, ...inner, ...(attached === undefined ? [] : [attached]), ...touching];
}

/** Follows links as they are now. Links that are swapped later are contained by the sandbox. */
function checkLinks(word: string, { roots, bases }: PathScope): string | null {
  if (word === '' || word.length > 4_096 || word.includes('\0') || isDevice(word)) return null;
  for (const base of bases) {
    const real = resolveLikeKernel(isAbsolute(word) ? word : `${base}/${word}`);
    if (real === null) return `where \`${word}\` leads is unknown`;
    const target = pathInside(roots, real);
    if (target === null) return `\`${word}\` leads outside the workspace`;
    if (isClosed(target)) return `\`${word}\` is closed to tools`;
  }
  return null;
}

/**
 * Resolves an absolute path as the kernel does, name by name: `..` after a link means the parent of the link's target. Names that do not exist
 * are kept. Null if the result is not determined yet: `..` after a missing name, or a link to a missing target.
 */
function resolveLikeKernel(path: string): string | null {
  let at = '/';
  let isMissing = false;
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue;
    if (name === '..' && isMissing) return null;
    const next = name === '..' ? dirname(at) : join(at, name);
    if (isMissing || name === '..') at = next;
    else {
      try {
        at = realpathSync.native(next);
      } catch {
        if (isLink(next)) return null;
        at = next;
        isMissing = true;
      }
    }
  }
  return at;
}

/** What rules about files match against: the path as written and where it leads, from every base directory. */
export function findTargets(path: string, { workspace, roots, bases }: PathScope): string[] {
  const found = new Set<string>();
  for (const base of bases) {
    const full = isAbsolute(path) ? path : `${base}/${path}`;
    for (const each of pathSubjects(full, workspace)) found.add(each);
    const real = resolveLikeKernel(full);
    if (real !== null) found.add(displayPath(pathInside(roots, real) ?? real));
  }
  return [...found];
}

/** If a directory `https:` exists, an address is a path in it. */
function existsInScope(path: string, { bases }: PathScope): boolean {
  return bases.some((base) => existsSync(`${base}/${path}`) || isLink(`${base}/${path}`));
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

/** Adds the directories that `cd target` may lead to. `cd` removes `..` before it follows links, `cd -P` afterwards. */
function enterDirectory(bases: string[], target: string): string[] {
  const entered = bases.flatMap((base) => {
    const logical = resolve(base, target);
    return [logical, resolveLikeKernel(isAbsolute(target) ? target : `${base}/${target}`) ?? logical];
  });
  const all = [...new Set([...bases, ...entered])];
  if (all.length > maxBases) denyCommand('changes the directory too often', 'write it as several commands');
  return all;
}
