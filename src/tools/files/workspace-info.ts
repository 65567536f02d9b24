// What a run is told about its workspace: platform, git branch, uncommitted changes.
//
// The repository may be hostile. The branch is read from files. Git itself is started only if the repository's configuration names no program, and
// with everything switched off that could start one.
import { execFile } from 'node:child_process';
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { WorkspaceInfo } from '../../ports/workspace.ts';
import { parseGitConfig } from './git-config.ts';

const gitTimeoutMs = 300;
/** Settings that only describe the repository. With any other setting, git is not started. */
const harmlessSetting =
  /^(?:core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol)|remote\.|branch\.|user\.|init\.|pull\.|push\.default|submodule\.active|extensions\.)/;
const maxFileBytes = 65_536;

export async function describeWorkspace(workspace: string): Promise<WorkspaceInfo> {
  return { platform: process.platform, git: await describeGit(workspace).catch(() => null) };
}

async function describeGit(workspace: string): Promise<WorkspaceInfo['git']> {
  const found = await findGitFolder(await realpath(workspace));
  if (found === null) return null;
  const { gitFolder, commonFolder, top } = found;
  const head = (await readSmall(join(gitFolder, 'HEAD'))).trim();
  const branch = /^ref: refs\/heads\/([^\s]{1,200})$/.exec(head)?.[1] ?? null;
  return { branch, isDirty: (await isHarmless(commonFolder)) ? await readIsDirty(top) : null };
}

interface GitFolders {
  gitFolder: string;
  /** Differs from `gitFolder` in a linked worktree. */
  commonFolder: string;
  top: string;
}

async function findGitFolder(from: string): Promise<GitFolders | null> {
  for (let top = from; ; top = dirname(top)) {
    const path = join(top, '.git');
    const stats = await stat(path).catch(() => null);
    if (stats?.isDirectory()) return { gitFolder: path, commonFolder: path, top };
    if (stats?.isFile()) {
      const link = /^gitdir: (.+)$/m.exec(await readSmall(path))?.[1];
      if (link === undefined) return null;
      const gitFolder = isAbsolute(link) ? link : resolve(top, link);
      const common = (await readSmall(join(gitFolder, 'commondir')).catch(() => '.')).trim();
      return { gitFolder, commonFolder: resolve(gitFolder, common), top };
    }
    if (top === dirname(top)) return null;
  }
}

async function isHarmless(commonFolder: string): Promise<boolean> {
  const settings = parseGitConfig(await readSmall(join(commonFolder, 'config')));
  return settings.every(({ key }) => harmlessSetting.test(key) && key !== 'extensions.worktreeconfig');
}

function readIsDirty(top: string): Promise<boolean | null> {
  const safe = ['core.fsmonitor=false', 'core.hooksPath=/dev/null', 'core.untrackedCache=false', 'core.pager=cat'];
  const args = [...safe.flatMap((setting) => ['-c', setting]), 'status', '--porcelain', '--ignore-submodules=all'];
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    LC_ALL: 'C',
  };
  return new Promise((settle) => {
    execFile('git', args, { cwd: top, env, timeout: gitTimeoutMs, killSignal: 'SIGKILL', maxBuffer: maxFileBytes }, (error, stdout) => {
      // More output than fits means changes, too.
      settle(error === null || error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER' ? stdout !== '' : null);
    });
  });
}

async function readSmall(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > maxFileBytes) throw new Error(`${path} is too large`);
  return readFile(path, 'utf8');
}
