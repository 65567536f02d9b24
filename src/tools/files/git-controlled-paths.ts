// Paths that git obeys because of its configuration: hooks, included files, repositories outside `.git`.
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { parseGitConfig } from './git-config.ts';
import { pathInside } from './paths.ts';
import { readStart } from './read-file.ts';

/** Paths inside the workspace, which need not exist. Paths outside are out of reach of tools anyway. */
export interface GitControlledPaths {
  /** A repository that is not in `.git`: one that a file `.git` points to, or the workspace itself. */
  repository: string[];
  /** Paths that the configuration makes git obey: directories of hooks, and included configuration files. */
  configured: string[];
}

/** Finds what git obeys in a workspace besides `.git`, according to the configuration of the repository, the user and the system. */
export async function findGitControlledPaths(
  root: string,
  env: Record<string, string | undefined> = process.env,
): Promise<GitControlledPaths> {
  const { top, own } = await findRepository(root);
  const pointer = /^gitdir:\s*(.+)$/m.exec(await readText(own))?.[1]?.trim();
  const directory = pointer === undefined ? own : resolve(top, pointer);
  const shared = resolve(directory, (await readText(join(directory, 'commondir'))).trim() || '.');
  const home = env.HOME || homedir();
  const files = [join(shared, 'config'), join(directory, 'config.worktree'), ...configFiles(env, home)];
  const configured = await readConfiguredPaths(files, { root, top, home });
  const repository = await realPathsInside(root, own === top ? bareNames.map((name) => join(top, name)) : [directory, shared]);
  const isApart = (path: string) => !repository.some((other) => path === other || path.startsWith(`${other}/`));
  return { repository, configured: (await realPathsInside(root, configured)).filter(isApart) };
}

/** The files that make a directory a repository or configure git in it. */
const bareNames = 'HEAD config config.worktree commondir hooks info modules objects packed-refs refs worktrees'.split(' ');
const hookNames = (
  'applypatch-msg commit-msg fsmonitor-watchman p4-changelist p4-post-changelist p4-pre-submit p4-prepare-changelist post-applypatch post-checkout ' +
  'post-commit post-index-change post-merge post-receive post-rewrite post-update pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push ' +
  'pre-rebase pre-receive prepare-commit-msg proc-receive push-to-checkout reference-transaction sendemail-validate update'
).split(' ');

/** The repository that git would find from the workspace upwards: `top` is the working tree, `own` its `.git` or the bare repository itself. */
async function findRepository(root: string): Promise<{ top: string; own: string }> {
  for (let top = root; ; top = dirname(top)) {
    if (await exists(join(top, '.git'))) return { top, own: join(top, '.git') };
    const parts = await Promise.all(['HEAD', 'objects', 'refs'].map((name) => exists(join(top, name))));
    if (parts.every(Boolean)) return { top, own: top };
    if (dirname(top) === top) return { top: root, own: join(root, '.git') };
  }
}

function configFiles(env: Record<string, string | undefined>, home: string): string[] {
  const system = ['/etc/gitconfig', '/usr/local/etc/gitconfig', '/opt/homebrew/etc/gitconfig'];
  const user = [join(env.XDG_CONFIG_HOME || join(home, '.config'), 'git', 'config'), join(home, '.gitconfig')];
  return [...system, ...user, ...[env.GIT_CONFIG_SYSTEM, env.GIT_CONFIG_GLOBAL].flatMap((path) => path || [])];
}

const maxFiles = 100;

/** Follows every include, whatever its condition, because the condition may become true later. */
async function readConfiguredPaths(files: string[], { root, top, home }: { root: string; top: string; home: string }): Promise<string[]> {
  const todo = [...new Set(files)];
  const hooks: string[] = [];
  for (let n = 0; n < todo.length && n < maxFiles; n++) {
    const file = todo[n] as string;
    for (const { key, value } of parseGitConfig(await readText(file))) {
      if (value === '') continue;
      const path = value.replace(/^~(?=\/|$)/, home);
      if (key === 'core.hookspath') hooks.push(resolve(top, path));
      const included = /^include(if)?\.path$/.test(key) ? resolve(dirname(file), path) : null;
      if (included !== null && !todo.includes(included)) todo.push(included);
    }
  }
  // If the workspace itself is the directory of hooks, only the names of hooks can be protected.
  return [...hooks.flatMap((path) => (path === root ? hookNames.map((name) => join(root, name)) : path)), ...todo];
}

async function realPathsInside(root: string, paths: string[]): Promise<string[]> {
  const real = await Promise.all([...new Set(paths)].flatMap((path) => [path, resolveExisting(path)]));
  const found = [...new Set(real.flatMap((path) => pathInside([root], path) ?? []))].filter((path) => path !== '');
  // A path inside another one, or inside .git, is protected with it.
  return found.filter((path) => !path.startsWith('.git/') && path !== '.git' && !found.some((other) => path.startsWith(`${other}/`)));
}

/** The real path. Missing names at the end are kept. */
async function resolveExisting(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  return real ?? (dirname(path) === path ? path : join(await resolveExisting(dirname(path)), basename(path)));
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

const maxBytes = 1024 ** 2;

/** The beginning of a file; '' if it does not exist or cannot be read, in which case git cannot obey it either. */
async function readText(path: string): Promise<string> {
  let file: FileHandle | null = null;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await file.stat();
    return stats.isFile() ? (await readStart(file, Math.min(stats.size, maxBytes))).toString('utf8') : '';
  } catch {
    return '';
  } finally {
    await file?.close();
  }
}
