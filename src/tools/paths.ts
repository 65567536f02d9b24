import { isAbsolute, relative, resolve, sep } from 'node:path';

/**
 * Paths of a workspace as text: nothing here looks at the disk. A path inside is written relative to the workspace with `/`
 * between its names; the workspace itself is ''.
 */

/** Closed to every tool, wherever it lies in the workspace. */
const closedName = '.retinue';
const mayBeClosed = /retinu|[^\0-\x7f]/i;
/** What programs of the user's obey. Git looks for its folder at any depth, the other programs only at the top. */
const protectedNames = ['.git', closedName];
const claude = ['agents', 'commands', 'hooks', 'settings.json', 'settings.local.json', 'skills'].map((name) => `.claude/${name}`);
const protectedPaths = ['retinue.config.json', ...claude, '.mcp.json', '.vscode/tasks.json', '.husky', '.envrc'];

/** Paths that may themselves be links: where they lead is closed or protected as well. */
export const closedAliases = [closedName];
export const protectedAliases = ['.git', ...protectedPaths];

/** `path` as a path inside the first of `roots` that holds it, or null. `..` is taken away before any link is looked at. */
export function inside(roots: string[], path: string): string | null {
  for (const root of roots) {
    const between = relative(root, resolve(root, path));
    if (between !== '..' && !between.startsWith(`..${sep}`) && !isAbsolute(between)) return between.split(sep).join('/');
  }
  return null;
}

export function segments(path: string): string[] {
  return path === '' ? [] : path.split('/');
}

/** How a path is shown and what rules match against. */
export function shown(path: string): string {
  return path === '' ? '.' : path;
}

/** Cheap for the names that a walk meets by the million. */
export function isClosed(path: string): boolean {
  if (!mayBeClosed.test(path)) return false;
  return segments(path).some((name) => fold(name) === closedName);
}

export function isProtected(path: string): boolean {
  return segments(path).some((name) => protectedNames.includes(fold(name))) || protectedPaths.some((top) => isUnder(path, top));
}

/** Whether `path` is `top` or lies below it, on any file system's idea of equal names. */
export function isUnder(path: string, top: string): boolean {
  const names = segments(path);
  return segments(top).every((name, index) => names[index] !== undefined && fold(names[index]) === fold(name));
}

/**
 * One spelling for all that some file system takes for the same name: case, composed forms, characters that HFS+ ignores, dots and spaces
 * at the end that Windows drops, and its short names (`GIT~1`).
 */
function fold(name: string): string {
  const plain = name
    .normalize('NFKC')
    .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
    .toLowerCase()
    .replace(/[. ]+$/, '');
  const short = /^(git|retinu|claude|vscode|husky|envrc)~\d+$/.exec(plain)?.[1];
  return short === undefined ? plain : `.${short === 'retinu' ? 'retinue' : short}`;
}
