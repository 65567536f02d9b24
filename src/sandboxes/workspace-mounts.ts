// What a sandbox shows and protects of the workspace.
import { lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { SandboxRequest } from '../ports/sandbox.ts';
import { findLinksOnPath } from '../system/links.ts';
import { isPathUnder, type Mount } from './mounts.ts';

export type WorkspaceRequest = Pick<SandboxRequest, 'workspace' | 'writable' | 'git' | 'protect' | 'hide' | 'readable'>;

/**
 * Nothing is mounted on a path that does not exist, because that would create it on the real disk. A directory above a protected or hidden path, or above a
 * link to one, is mounted over itself: a mount point can be neither renamed nor removed, so the path cannot be moved away and created anew.
 */
export function workspaceMounts(wanted: WorkspaceRequest, secret: readonly string[]): Mount[] {
  const shown = (wanted.readable ?? []).filter(({ path }) => !secret.some((each) => isBelowReal(path, each)));
  const added = shown.flatMap(({ path, hide }): Mount[] => [
    { kind: 'read', path },
    ...[...hide, ...secret].flatMap((each) => hiddenMount(each, path)),
  ]);
  return [...added, ...ownMounts(wanted, secret)];
}

function ownMounts(wanted: WorkspaceRequest, secret: readonly string[]): Mount[] {
  const { workspace, writable, git } = wanted;
  if (wanted.hide.includes('')) return [{ kind: 'hide', path: workspace, folder: true }];
  const top: Mount = { kind: writable ? 'write' : 'read', path: workspace };
  const hidden = [...wanted.hide.map((name) => join(workspace, name)), ...secret].flatMap((path) => hiddenMount(path, workspace));
  if (!writable) return [top, ...hidden];
  const kept = wanted.protect.filter((name) => !(git && name === '.git'));
  const found = kept.map((name) => resolveInside(workspace, name)).filter((path) => path !== null);
  const links = [...kept, ...wanted.hide].flatMap((name) => findLinksOnPath(workspace, name)).map(({ path }) => path);
  const closed = [...found, ...hidden.map(({ path }) => path), ...links.filter((path) => isPathUnder(path, workspace))];
  const above = new Set(closed.flatMap((path) => foldersBetween(workspace, path)));
  return [
    top,
    ...[...above].sort().map((path): Mount => ({ kind: 'write', path })),
    ...[...new Set(found)].sort().map((path): Mount => ({ kind: 'read', path })),
    ...hidden,
  ];
}

/** Follows links, because their target must not change. Null if the path does not exist or is outside, where commands do not see it. */
function resolveInside(workspace: string, name: string): string | null {
  try {
    const path = realpathSync(join(workspace, name));
    return path !== workspace && isPathUnder(path, workspace) ? path : null;
  } catch (error) {
    return ifMissing(error, null);
  }
}

function foldersBetween(workspace: string, path: string): string[] {
  const folder = dirname(path);
  return folder === workspace ? [] : [...foldersBetween(workspace, folder), folder];
}

/** Whether a path is a secret folder or below one. */
function isBelowReal(path: string, secret: string): boolean {
  try {
    return isPathUnder(path, realpathSync(secret));
  } catch (error) {
    return ifMissing(error, false);
  }
}

function hiddenMount(path: string, workspace: string): Mount[] {
  try {
    const real = realpathSync(path);
    if (real === workspace || !isPathUnder(real, workspace)) return [];
    return [{ kind: 'hide', path: real, folder: lstatSync(real).isDirectory() }];
  } catch (error) {
    return ifMissing(error, []);
  }
}

/** Returns `value` if the path does not exist. A path that cannot be read may exist, so other errors prevent the sandbox. */
function ifMissing<T>(error: unknown, value: T): T {
  if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')) return value;
  throw error;
}

/** Folders that appear in the workspace, as far as they still exist. Their places are folders of the workspace. */
export function shownMounts({ shown = [], hide }: Pick<SandboxRequest, 'shown' | 'hide'>): Mount[] {
  if (hide.includes('')) return [];
  return shown.flatMap(({ source, path, hide: hidden }): Mount[] => {
    if (!isFolder(source) || !isFolder(path)) return [];
    return [
      { kind: 'other', path, source },
      ...hidden.map((each): Mount => ({ kind: 'hide', path: each, folder: isFolder(join(source, each.slice(path.length))) })),
    ];
  });
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** If the workspace is the home directory itself, dotfiles are hidden: keys, tokens and settings of programs. */
export function hiddenDotfiles(home: string): Mount[] {
  return readdirSync(home, { withFileTypes: true }).flatMap((entry): Mount[] => {
    const isKnown = entry.isDirectory() || entry.isFile();
    return entry.name.startsWith('.') && isKnown ? [{ kind: 'hide', path: join(home, entry.name), folder: entry.isDirectory() }] : [];
  });
}

/**
 * The repository of a checkout made with `git worktree`, whose `.git` is a file that points elsewhere. Anybody may have written that file, so the repository
 * is shown only if it points back to the checkout, which only git writes there.
 */
export function worktreeMounts({ workspace, writable, git, hide }: WorkspaceRequest): Mount[] {
  if (hide.includes('')) return [];
  try {
    const pointer = join(workspace, '.git');
    if (!lstatSync(pointer).isFile()) return [];
    const [, given] = /^gitdir: (.+)\n?$/.exec(readFileSync(pointer, 'utf8')) ?? [];
    if (given === undefined) return [];
    const folder = realpathSync(resolve(workspace, given));
    const back = readFileSync(join(folder, 'gitdir'), 'utf8').trim();
    const common = realpathSync(resolve(folder, readFileSync(join(folder, 'commondir'), 'utf8').trim()));
    const isOurs = realpathSync(resolve(folder, back)) === pointer && dirname(folder) === join(common, 'worktrees');
    if (!isOurs || isPathUnder(workspace, common) || !lstatSync(join(common, 'objects')).isDirectory()) return [];
    return [{ kind: writable && git ? 'write' : 'read', path: common }];
  } catch {
    // Not a worktree, or one that git could not use either.
    return [];
  }
}
