// Describes a workspace for prompts: platform, git branch, uncommitted changes.
//
// The repository may be hostile: its configuration can make git start any program. The branch is read from files. Git itself is started only in a
// sandbox, where it can change nothing and has no network. Without a sandbox, nothing is said about uncommitted changes.
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Sandbox } from '../../ports/sandbox.ts';
import type { WorkspaceInfo } from '../../ports/workspace.ts';
import { createEnvironment, findShell, shellArguments } from '../shell/environment.ts';
import { runProcess } from '../shell/execution/run-process.ts';
import { closedAliases } from './paths.ts';

const gitTimeoutMs = 500;
const maxFileBytes = 65_536;

export interface WorkspaceInfoOptions {
  /** Where git may be started; null if there is none. */
  sandbox: Sandbox | null;
  /** Variables by which started processes are found again after this process has died. */
  marks?(): Record<string, string>;
}

export async function describeWorkspace(workspace: string, options: WorkspaceInfoOptions): Promise<WorkspaceInfo> {
  return { platform: process.platform, git: await describeGit(workspace, options).catch(() => null) };
}

async function describeGit(workspace: string, { sandbox, marks }: WorkspaceInfoOptions): Promise<WorkspaceInfo['git']> {
  const root = await realpath(workspace);
  const gitFolder = await findGitFolder(root);
  if (gitFolder === null) return null;
  const head = (await readSmall(join(gitFolder, 'HEAD'))).trim();
  const branch = /^ref: refs\/heads\/([^\s]{1,200})$/.exec(head)?.[1] ?? null;
  return { branch, isDirty: sandbox && (await readIsDirty(root, sandbox, marks?.())) };
}

async function findGitFolder(from: string): Promise<string | null> {
  for (let top = from; ; top = dirname(top)) {
    const path = join(top, '.git');
    const stats = await stat(path).catch(() => null);
    if (stats?.isDirectory()) return path;
    if (stats?.isFile()) {
      const link = /^gitdir: (.+)$/m.exec(await readSmall(path))?.[1];
      return link === undefined ? null : isAbsolute(link) ? link : resolve(top, link);
    }
    if (top === dirname(top)) return null;
  }
}

/** Null if git fails, takes too long, or cannot see its repository in the sandbox. */
async function readIsDirty(workspace: string, sandbox: Sandbox, marks: Record<string, string> = {}): Promise<boolean | null> {
  const own = { ...marks, GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0' };
  const env: Record<string, string> = { ...createEnvironment(process.env, workspace), ...own };
  const argv = shellArguments(
    findShell(env.PATH ?? '', workspace),
    'git -c core.fsmonitor=false status --porcelain --ignore-submodules=all',
  );
  const rights = { writable: false, network: false, git: false, protect: [], hide: closedAliases };
  const made = await sandbox.confine({ argv, workspace, env, ...rights });
  if (!made.ok) return null;
  const { confined } = made;
  try {
    const signal = new AbortController().signal;
    const request = { argv: confined.argv, cwd: workspace, env: confined.env, timeoutMs: gitTimeoutMs, signal, sandboxed: confined };
    const result = await runProcess(request);
    return result.ok && result.cause === 'exit' && result.code === 0 ? result.output.trim() !== '' : null;
  } finally {
    await confined.release();
  }
}

async function readSmall(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > maxFileBytes) throw new Error(`${path} is too large`);
  return readFile(path, 'utf8');
}
