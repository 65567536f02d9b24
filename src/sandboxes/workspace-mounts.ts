import { lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { SandboxRequest } from '../ports/sandbox.ts';
import { type Mount, under } from './mounts.ts';

export type Wanted = Pick<SandboxRequest, 'workspace' | 'writable' | 'git' | 'protect' | 'hide'>;

/**
 * The workspace with what in it is closed. Nothing is mounted on a path that does not exist: that would make it on the real disk.
 *
 * A folder above something protected is put over itself: a mount point can be neither renamed nor removed, so the protected path cannot
 * be carried away and made anew.
 */
export function workspaceView(wanted: Wanted, secret: readonly string[]): Mount[] {
  const { workspace, writable, git } = wanted;
  const top: Mount = { kind: writable ? 'write' : 'read', path: workspace };
  const hidden = [...wanted.hide.map((name) => join(workspace, name)), ...secret].flatMap((path) => hide(path, workspace));
  if (!writable) return [top, ...hidden];
  const kept = wanted.protect.filter((name) => !(git && name === '.git'));
  const found = kept.map((name) => realIn(workspace, name)).filter((path) => path !== null);
  const above = new Set(found.flatMap((path) => foldersBetween(workspace, path)));
  return [
    top,
    ...[...above].sort().map((path): Mount => ({ kind: 'write', path })),
    ...[...new Set(found)].sort().map((path): Mount => ({ kind: 'read', path })),
    ...hidden,
  ];
}

/** Through links: what they lead to is what must not change. Null where there is nothing, or it lies outside and is not seen anyway. */
function realIn(workspace: string, name: string): string | null {
  try {
    const path = realpathSync(join(workspace, name));
    return path !== workspace && under(path, workspace) ? path : null;
  } catch (error) {
    return nothing(error, null);
  }
}

function foldersBetween(workspace: string, path: string): string[] {
  const folder = dirname(path);
  return folder === workspace ? [] : [...foldersBetween(workspace, folder), folder];
}

function hide(path: string, workspace: string): Mount[] {
  try {
    const real = realpathSync(path);
    if (real === workspace || !under(real, workspace)) return [];
    return [{ kind: 'hide', path: real, folder: lstatSync(real).isDirectory() }];
  } catch (error) {
    return nothing(error, []);
  }
}

/** What cannot be looked at may be there all the same: then there is no sandbox. */
function nothing<T>(error: unknown, value: T): T {
  if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')) return value;
  throw error;
}

/** A workspace that is the home folder itself is shown without what begins with a dot: keys, tokens and settings of programs. */
export function dotfilesOf(home: string): Mount[] {
  return readdirSync(home, { withFileTypes: true }).flatMap((entry): Mount[] => {
    const isKnown = entry.isDirectory() || entry.isFile();
    return entry.name.startsWith('.') && isKnown ? [{ kind: 'hide', path: join(home, entry.name), folder: entry.isDirectory() }] : [];
  });
}

/**
 * The repository of a checkout made with `git worktree`, whose `.git` is a file that points elsewhere. That file may come from anybody: the
 * place counts only where it points back, which git writes there and nobody else.
 */
export function worktreeView({ workspace, writable, git }: Wanted): Mount[] {
  try {
    const pointer = join(workspace, '.git');
    if (!lstatSync(pointer).isFile()) return [];
    const [, given] = /^gitdir: (.+)\n?$/.exec(readFileSync(pointer, 'utf8')) ?? [];
    if (given === undefined) return [];
    const folder = realpathSync(resolve(workspace, given));
    const back = readFileSync(join(folder, 'gitdir'), 'utf8').trim();
    const common = realpathSync(resolve(folder, readFileSync(join(folder, 'commondir'), 'utf8').trim()));
    const isOurs = realpathSync(resolve(folder, back)) === pointer && dirname(folder) === join(common, 'worktrees');
    if (!isOurs || under(workspace, common) || !lstatSync(join(common, 'objects')).isDirectory()) return [];
    return [{ kind: writable && git ? 'write' : 'read', path: common }];
  } catch {
    return [];
  }
}
