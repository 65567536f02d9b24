// Paths of a workspace as text, and which of them are closed or protected. Nothing here reads the disk. A path inside the workspace is relative to it,
// with `/` between its names; the workspace itself is ''.
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { protectedFiles, protectedNamePattern } from './protected-files.ts';

/** Closed to every tool, wherever it is in the workspace. */
const closedName = '.retinue';
const mayBeClosed = /retinu|[^\0-\x7f]/i;
/** Git looks at any depth; a directory with HEAD, objects and refs is a repository for it, so tools create no file named HEAD. */
const protectedNames = ['.git', closedName];
export const protectedPaths = protectedFiles.flatMap(({ paths }) => paths);

/** Paths that may be links: their targets are closed or protected as well. */
export const closedAliases = [closedName];
export const protectedAliases = ['.git', ...protectedPaths];
/** Files that make the workspace a git repository: with a file HEAD it needs no `.git`. */
export const gitRepositoryNames = ['.git', 'HEAD'];

/** `path` relative to the first of `roots` that contains it, or null. `..` is removed as text, without following links. */
export function pathInside(roots: string[], path: string): string | null {
  for (const root of roots) {
    const inside = relative(root, resolve(root, path));
    if (inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)) return inside.split(sep).join('/');
  }
  return null;
}

export function splitPath(path: string): string[] {
  return path === '' ? [] : path.split('/');
}

/** The path as it is shown and as rules match it. */
export function displayPath(path: string): string {
  return path === '' ? '.' : path;
}

/** Cheap, because a walk may call it millions of times. */
export function isClosed(path: string): boolean {
  if (!mayBeClosed.test(path)) return false;
  return splitPath(path).some((name) => foldName(name) === closedName);
}

export function isProtected(path: string): boolean {
  const names = splitPath(path).map(foldName);
  if (names.at(-1) === 'head' || names.some((name) => protectedNames.includes(name))) return true;
  return protectedNamePattern.test(path) || protectedPaths.some((top) => isUnder(path, top));
}

/** Whether `path` is `top` or below it, comparing names as loosely as any file system does. */
export function isUnder(path: string, top: string): boolean {
  const names = splitPath(path);
  return splitPath(top).every((name, index) => names[index] !== undefined && foldName(names[index]) === foldName(name));
}

/**
 * One spelling for all names that some file system treats as equal: case, composed forms, characters that HFS+ ignores, trailing dots and spaces
 * that Windows drops, and its short names (`GIT~1`).
 */
function foldName(name: string): string {
  const plain = name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .replace(/[. ]+$/, '');
  const short = /^(git|retinu|claude|codex|cursor|vscode|husky|envrc|mcp|idea)~\d+$/.exec(plain)?.[1];
  if (short === undefined) return plain;
  return `.${short === 'retinu' ? 'retinue' : short === 'mcp' ? 'mcp.json' : short}`;
}
