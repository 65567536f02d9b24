import { isAbsolute, relative, resolve, sep } from 'node:path';

/**
 * Paths of a workspace as text: nothing here looks at the disk. A path inside is written relative to the workspace with `/`
 * between its names; the workspace itself is ''.
 */

/** Closed to every tool, wherever it lies in the workspace. */
const closedName = '.retinue';
const mayBeClosed = /retinu|[^\0-\x7f]/i;
/**
 * What programs of the user's obey by themselves, on this machine, as soon as the folder is entered, opened or committed: nobody reads it
 * once more before it counts. Git looks at any depth (a folder with the file HEAD, objects and refs is a repository to it, so no file
 * of that name is made), the others at the top. Not here is what somebody starts or pushes by hand: scripts, build files, workflows.
 */
const protectedNames = ['.git', closedName];
const claude = ['agents', 'commands', 'hooks', 'plugins', 'settings.json', 'settings.local.json', 'skills'].map(
  (name) => `.claude/${name}`,
);
const agents = [
  ...[
    '.mcp.json',
    '.amp',
    '.codex',
    '.cursor',
    '.factory',
    '.gemini',
    '.kilocode',
    '.kiro',
    '.opencode',
    'opencode.json',
    'opencode.jsonc',
  ],
  ...['.qwen', '.roo', '.windsurf', '.zed', 'crush.json', '.crush.json', '.crush'],
];
const editors = ['.vscode', '.idea', '.devcontainer', '.devcontainer.json', '.envrc'];
/** Tools that run something when a shell enters the folder, by all the names under which they look for their file. */
const mise = ['mise', '.mise', 'mise.local', '.mise.local', '.config/mise'].map((name) => `${name}.toml`);
const shells = [...mise, 'mise/config.toml', '.mise', '.config/mise', '.rtx.toml'];
const lefthook = ['lefthook', '.lefthook', 'lefthook-local', '.lefthook-local', '.config/lefthook', '.config/lefthook-local'].flatMap(
  (name) => ['yml', 'yaml', 'toml', 'json', 'jsonc'].map((type) => `${name}.${type}`),
);
const hooks = [
  '.husky',
  '.githooks',
  ...lefthook,
  '.lefthook',
  '.lefthook-local',
  '.overcommit.yml',
  '.pre-commit-config.yaml',
  '.hg',
  '.jj',
];
export const protectedPaths = ['retinue.config.json', ...claude, ...agents, ...editors, ...shells, ...hooks];

/** Paths that may themselves be links: where they lead is closed or protected as well. */
export const closedAliases = [closedName];
export const protectedAliases = ['.git', ...protectedPaths];
/** What makes the workspace a repository to git: with a file HEAD it needs no `.git`. */
export const gitNames = ['.git', 'HEAD'];

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
  const names = segments(path).map(fold);
  if (names.at(-1) === 'head' || names.some((name) => protectedNames.includes(name))) return true;
  return protectedPaths.some((top) => isUnder(path, top));
}

/** Where package managers put names of files that lie in their own store. */
const stores = /(?:^|\/)(?:node_modules|site-packages)\//;

/** Whether a file at `path` may have further names: one that has may be somebody else's, outside the workspace. */
export function mayBeShared(path: string): boolean {
  return stores.test(path);
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
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .replace(/[. ]+$/, '');
  const short = /^(git|retinu|claude|codex|cursor|vscode|husky|envrc|mcp|idea)~\d+$/.exec(plain)?.[1];
  if (short === undefined) return plain;
  return `.${short === 'retinu' ? 'retinue' : short === 'mcp' ? 'mcp.json' : short}`;
}
