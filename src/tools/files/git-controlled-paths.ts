import { constants } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { settingsOf } from './git-config.ts';
import { inside } from './paths.ts';

/** As paths inside the workspace; what lies outside is out of reach anyway. They need not exist. */
export interface GitPlaces {
  /** A repository elsewhere than in `.git`: one that a file `.git` points to, or the workspace itself. */
  repository: string[];
  /** What configuration names for git to obey: folders of hooks, and further files of configuration. */
  named: string[];
}

/** What git obeys in a workspace besides `.git`, by the repository's, the user's and the system's configuration. */
export async function gitPlaces(root: string, env: Record<string, string | undefined> = process.env): Promise<GitPlaces> {
  const { top, own } = await repositoryOf(root);
  const pointer = /^gitdir:\s*(.+)$/m.exec(await textOf(own))?.[1]?.trim();
  const folder = pointer === undefined ? own : resolve(top, pointer);
  const shared = resolve(folder, (await textOf(join(folder, 'commondir'))).trim() || '.');
  const home = env.HOME || homedir();
  const files = [join(shared, 'config'), join(folder, 'config.worktree'), ...configurationsOf(env, home)];
  const named = await namedIn(files, { root, top, home });
  const repository = await within(root, own === top ? bareNames.map((name) => join(top, name)) : [folder, shared]);
  const isApart = (path: string) => !repository.some((other) => path === other || path.startsWith(`${other}/`));
  return { repository, named: (await within(root, named)).filter(isApart) };
}

/** All that makes a folder a repository, or says what git does in it. */
const bareNames = 'HEAD config config.worktree commondir hooks info modules objects packed-refs refs worktrees'.split(' ');
const hookNames = (
  'applypatch-msg commit-msg fsmonitor-watchman p4-changelist p4-post-changelist p4-pre-submit p4-prepare-changelist post-applypatch post-checkout ' +
  'post-commit post-index-change post-merge post-receive post-rewrite post-update pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push ' +
  'pre-rebase pre-receive prepare-commit-msg proc-receive push-to-checkout reference-transaction sendemail-validate update'
).split(' ');

/** Where git would find one, from the workspace upwards: the folder of files, and what stands for the repository. */
async function repositoryOf(root: string): Promise<{ top: string; own: string }> {
  for (let top = root; ; top = dirname(top)) {
    if (await isThere(join(top, '.git'))) return { top, own: join(top, '.git') };
    const parts = await Promise.all(['HEAD', 'objects', 'refs'].map((name) => isThere(join(top, name))));
    if (parts.every(Boolean)) return { top, own: top };
    if (dirname(top) === top) return { top: root, own: join(root, '.git') };
  }
}

function configurationsOf(env: Record<string, string | undefined>, home: string): string[] {
  const system = ['/etc/gitconfig', '/usr/local/etc/gitconfig', '/opt/homebrew/etc/gitconfig'];
  const user = [join(env.XDG_CONFIG_HOME || join(home, '.config'), 'git', 'config'), join(home, '.gitconfig')];
  return [...system, ...user, ...[env.GIT_CONFIG_SYSTEM, env.GIT_CONFIG_GLOBAL].flatMap((path) => path || [])];
}

const maxFiles = 100;

/** Through what is included, whatever the condition: it may come to hold. */
async function namedIn(files: string[], { root, top, home }: { root: string; top: string; home: string }): Promise<string[]> {
  const todo = [...new Set(files)];
  const hooks: string[] = [];
  for (let n = 0; n < todo.length && n < maxFiles; n++) {
    const file = todo[n] as string;
    for (const { key, value } of settingsOf(await textOf(file))) {
      if (value === '') continue;
      const path = value.replace(/^~(?=\/|$)/, home);
      if (key === 'core.hookspath') hooks.push(resolve(top, path));
      const included = /^include(if)?\.path$/.test(key) ? resolve(dirname(file), path) : null;
      if (included !== null && !todo.includes(included)) todo.push(included);
    }
  }
  // The workspace as a folder of hooks cannot be closed as a whole.
  return [...hooks.flatMap((path) => (path === root ? hookNames.map((name) => join(root, name)) : path)), ...todo];
}

async function within(root: string, paths: string[]): Promise<string[]> {
  const real = await Promise.all([...new Set(paths)].flatMap((path) => [path, realOf(path)]));
  const found = [...new Set(real.flatMap((path) => inside([root], path) ?? []))].filter((path) => path !== '');
  // What lies in another one, or in .git, is closed with it.
  return found.filter((path) => !path.startsWith('.git/') && path !== '.git' && !found.some((other) => path.startsWith(`${other}/`)));
}

/** Names at the end that do not exist are kept. */
async function realOf(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  return real ?? (dirname(path) === path ? path : join(await realOf(dirname(path)), basename(path)));
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

const maxBytes = 1024 ** 2;

/** The beginning of a file; '' where there is none. */
async function textOf(path: string): Promise<string> {
  let file: FileHandle | null = null;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile()) return '';
    const size = Math.min(stats.size, maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch {
    return '';
  } finally {
    await file?.close();
  }
}
