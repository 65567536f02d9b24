// Paths that git obeys because of its configuration: hooks, included files, repositories outside `.git`. Every condition of an include may become true.
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { parseGitConfig } from './git-config.ts';
import { pathInside } from './paths.ts';
import { readWhole } from './read-file.ts';

/** Paths inside the workspace, which need not exist. Paths outside are out of reach of tools anyway. */
export interface GitControlledPaths {
  /** A repository that is not in `.git`: one that a file `.git` points to, or the workspace itself. */
  repository: string[];
  /** Paths that the configuration makes git obey: directories of hooks, and included configuration files. */
  configured: string[];
  /** Why there may be more of them, or null. Tools then write nothing. */
  problem: string | null;
}

/** Finds what git obeys in a workspace besides `.git`, according to the configuration of the repository, the user and the system. */
export async function findGitControlledPaths(
  root: string,
  env: Record<string, string | undefined> = process.env,
): Promise<GitControlledPaths> {
  const home = env.HOME || homedir();
  const repositories = await findRepositories(root);
  const top = repositories[0]?.top ?? root;
  const folders: string[] = [];
  const files = configFiles(env, home);
  try {
    for (const { top, own } of repositories) {
      const pointer = /^gitdir:\s*([\s\S]+?)[\r\n]*$/.exec(await readText(own))?.[1];
      const directory = pointer === undefined ? own : resolve(top, pointer);
      const shared = resolve(directory, (await readText(join(directory, 'commondir'))).replace(/[\r\n]+$/, '') || '.');
      files.unshift(join(shared, 'config'), join(directory, 'config.worktree'));
      folders.push(...(own === top ? bareNames.map((name) => join(top, name)) : [directory, shared]));
    }
    const configured = await readConfiguredPaths(files, { root, top, home });
    const repository = await realPathsInside(root, folders);
    const isApart = (path: string) => !repository.some((other) => path === other || path.startsWith(`${other}/`));
    return { repository, configured: (await realPathsInside(root, configured)).filter(isApart), problem: null };
  } catch (error) {
    if (error instanceof UnknownConfiguration) return { repository: [], configured: [], problem: error.message };
    throw error;
  }
}

class UnknownConfiguration extends Error {}

/** The files that make a directory a repository or configure git in it. */
const bareNames = 'HEAD config config.worktree commondir hooks info modules objects packed-refs refs worktrees'.split(' ');
const hookNames = (
  'applypatch-msg commit-msg fsmonitor-watchman p4-changelist p4-post-changelist p4-pre-submit p4-prepare-changelist post-applypatch post-checkout ' +
  'post-commit post-index-change post-merge post-receive post-rewrite post-update pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push ' +
  'pre-rebase pre-receive prepare-commit-msg proc-receive push-to-checkout reference-transaction sendemail-validate update'
).split(' ');

/**
 * What git may take for its repository, from the workspace upwards: `top` is the working tree, `own` its `.git` or the bare repository itself. A `.git`
 * that is not valid leaves the choice to git.
 */
async function findRepositories(root: string): Promise<{ top: string; own: string }[]> {
  const found: { top: string; own: string }[] = [];
  for (let top = root; ; top = dirname(top)) {
    const own = join(top, '.git');
    if (await exists(own)) found.push({ top, own });
    const [head, common, ...parts] = await Promise.all(['HEAD', 'commondir', 'objects', 'refs'].map((name) => exists(join(top, name))));
    const isBare = head && (common || parts.every(Boolean));
    if (isBare) found.push({ top, own: top });
    if (isBare || (await exists(join(own, 'HEAD'))) || (await isFile(own))) return found;
    if (dirname(top) === top) return found.length > 0 ? found : [{ top: root, own: join(root, '.git') }];
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
  for (let n = 0; n < todo.length; n++) {
    if (n >= maxFiles) throw new UnknownConfiguration('the configuration of git includes too many files');
    const file = todo[n] as string;
    for (const { key, value } of parseGitConfig(await readText(file)).settings) {
      const isHooks = key === 'core.hookspath';
      if (value === '' || (!isHooks && !/^include(if)?\.path$/.test(key))) continue;
      for (const path of expandPath(value, isHooks ? top : dirname(file), { top, home }))
        if (isHooks) hooks.push(path);
        else if (!todo.includes(path)) todo.push(path);
    }
  }
  // If the workspace itself is the directory of hooks, only the names of hooks can be protected.
  return [...hooks.flatMap((path) => (path === root ? hookNames.map((name) => join(root, name)) : path)), ...todo];
}

/** Where git is usually installed, for `%(prefix)/`. */
const prefixes = ['/usr', '/usr/local', '/opt/homebrew'];

/** What a path of the configuration may mean: relative to `base`, to a home folder or to the folder of git. Git works in `top`. */
function expandPath(value: string, base: string, { top, home }: { top: string; home: string }): string[] {
  const [, user, rest = ''] = /^~([^/]*)(.*)$/s.exec(value) ?? [];
  const prefixed = /^%\(prefix\)\/(.*)$/s.exec(value)?.[1];
  const homes = user === '' ? [home] : [`/home/${user}`, `/${user}`, `/Users/${user}`];
  const paths =
    prefixed !== undefined
      ? prefixes.map((each) => join(each, prefixed))
      : user === undefined
        ? [value]
        : homes.map((each) => `${each}${rest}`);
  return paths.map((path) => resolve(base, path).replace(/^\/proc\/(?:self|thread-self)\/cwd(?=\/|$)/, top));
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

async function isFile(path: string): Promise<boolean> {
  return lstat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

const maxBytes = 1024 ** 2;

/** '' if it does not exist or cannot be read, in which case git cannot obey it either. */
async function readText(path: string): Promise<string> {
  let file: FileHandle | null = null;
  let content: Buffer | null;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!(await file.stat()).isFile()) return '';
    content = await readWhole(file, maxBytes);
  } catch {
    return '';
  } finally {
    await file?.close();
  }
  if (content === null) throw new UnknownConfiguration(`${path}, which git obeys, has more than ${maxBytes / 1024 ** 2} MiB`);
  return content.toString('utf8');
}
