// Runs git so that it obeys only what Retinue says. Repositories and the files of runs are hostile: their hooks, configuration, filters and attributes
// must not make git start anything.
//
// G1. GIT_DIR is always given, and is a folder that Retinue made. Git looks for no repository and reads no configuration of one.
// G2. Local commands read neither the user's nor the system's configuration and may use no transport. Only a fetch may, for credentials.
// G3. A command has no terminal, ends with this process, and has a time limit.
import { spawn } from 'node:child_process';
import { delimiter, isAbsolute, join } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import type { Crash } from '../ports/crash.ts';
import { dieWithParent } from '../system/die-with-parent.ts';
import { isExecutable } from '../system/executable.ts';
import { killAtExit } from '../system/kill-at-exit.ts';
import { trySignal } from '../system/signals.ts';

export type Env = Record<string, string | undefined>;

export interface GitOptions {
  gitDir: string;
  workTree?: string;
  index?: string;
  /** Folders with objects that are read besides those of `gitDir`. */
  objects?: readonly string[];
  input?: string | Uint8Array;
  signal?: AbortSignal | undefined;
  timeoutMs?: number;
  /** Exit codes that are results and not failures, besides 0. */
  accept?: readonly number[];
  /** For commands that refuse literal paths. The caller passes no path that begins with a colon. */
  magic?: boolean;
  /** More settings, as `key=value`. */
  settings?: readonly string[];
  /** Only for a fetch: the whole environment, so that credential helpers and the SSH agent of the user work. `lock`: held while it runs. */
  network?: { lock: string };
}

export interface GitResult {
  code: number;
  out: Buffer;
}

export type Git = (args: readonly string[], options: GitOptions) => Promise<GitResult>;

const defaultTimeoutMs = 300_000;
const maxOutputBytes = 512 * 1024 ** 2;
const maxErrorChars = 4000;

/** Settings that win over everything else. */
const fixedSettings = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.looseCompression=1',
  'core.quotePath=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'submodule.recurse=false',
  'diff.ignoreSubmodules=all',
  'advice.detachedHead=false',
];

/** Rejects with `workspace` if git fails, is missing or takes too long. */
export function createGit(env: Env, crash: Crash = () => {}): Git {
  let program: string | null = null;
  return async (args, options) => {
    program ??= findProgram('git', env);
    if (program === null)
      throw new RetinueError('workspace', 'git is not installed; install it to use repositories and worktrees', { retryable: true });
    const settings = [...fixedSettings, ...(options.settings ?? [])].flatMap((setting) => ['-c', setting]);
    const command = [program, ...settings, ...args];
    const locked = options.network ? [...lockArguments(env, options.network.lock), ...command] : command;
    crash('before workspace.git');
    const result = await run([...dieWithParent(), ...locked], gitEnvironment(env, options), { ...options, name: args[0] ?? '' });
    crash('after workspace.git');
    return result;
  };
}

/** A program of an absolute folder of PATH. */
export function findProgram(name: string, env: Env): string | null {
  const folders = (env.PATH || '/usr/local/bin:/usr/bin:/bin').split(delimiter).filter((each) => isAbsolute(each));
  return folders.map((each) => join(each, name)).find(isExecutable) ?? null;
}

/** A command that holds a lock while it runs another: util-linux, or macOS. Without one, git's own locks have to do. */
function lockArguments(env: Env, file: string): string[] {
  const flock = findProgram('flock', env);
  if (flock !== null) return [flock, '-x', file];
  const lockf = findProgram('lockf', env);
  return lockf === null ? [] : [lockf, '-k', file];
}

function gitEnvironment(env: Env, { gitDir, workTree, index, objects = [], network, magic = false }: GitOptions): Record<string, string> {
  const own = {
    LC_ALL: 'C',
    GIT_DIR: gitDir,
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    ...(magic ? {} : { GIT_LITERAL_PATHSPECS: '1' }),
    GIT_ATTR_NOSYSTEM: '1',
    ...(workTree !== undefined && { GIT_WORK_TREE: workTree }),
    ...(index !== undefined && { GIT_INDEX_FILE: index }),
    ...(objects.length > 0 && { GIT_ALTERNATE_OBJECT_DIRECTORIES: objects.map(quotePath).join(':') }),
  };
  if (network) {
    const inherited = Object.entries(env).filter(([name, value]) => value !== undefined && !isRepositoryVariable(name));
    return { ...(Object.fromEntries(inherited) as Record<string, string>), ...own, GIT_ALLOW_PROTOCOL: 'https:http:ssh:git' };
  }
  return {
    PATH: env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    HOME: '/nonexistent',
    ...own,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ALLOW_PROTOCOL: 'none',
  };
}

/** Variables by which a caller, such as a hook, would make git use another repository or configuration. */
function isRepositoryVariable(name: string): boolean {
  return /^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|NAMESPACE|PREFIX|TRACE.*|CONFIG(_PARAMETERS|_COUNT|_KEY_.*|_VALUE_.*)?)$/.test(
    name,
  );
}

/** As git reads a list of paths: one with a colon or a quote is quoted. */
function quotePath(path: string): string {
  return /[:"\\]/.test(path) || path.startsWith('"') ? JSON.stringify(path) : path;
}

function run(argv: string[], env: Record<string, string>, options: GitOptions & { name: string }): Promise<GitResult> {
  const { signal, input, accept = [], name, timeoutMs = defaultTimeoutMs } = options;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const [program, ...args] = argv as [string, ...string[]];
    const child = spawn(program, args, { env, cwd: '/', detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    const forget = child.pid === undefined ? () => {} : killAtExit(child.pid);
    let problem: string | null = null;
    const end = (why: string) => {
      problem ??= why;
      if (child.pid !== undefined) trySignal(-child.pid, 'SIGKILL');
    };
    const timer = setTimeout(() => end(`took longer than ${Math.round(timeoutMs / 1000)} seconds`), timeoutMs);
    const onAbort = () => end('was stopped');
    signal?.addEventListener('abort', onAbort, { once: true });
    const out: Buffer[] = [];
    let bytes = 0;
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxOutputBytes) end('returned too much');
      else out.push(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      if (errors.length < maxErrorChars) errors += chunk.toString('utf8');
    });
    child.stdin.on('error', () => {}); // It ended without reading all of it; its exit code says why.
    child.stdin.end(input ?? '');
    const settle = (code: number | null) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      forget();
      if (problem === null && code !== null && (code === 0 || accept.includes(code))) return resolve({ code, out: Buffer.concat(out) });
      reject(new RetinueError('workspace', `git ${name} ${problem ?? `failed: ${lastLine(errors) || `exit code ${code}`}`}`));
    };
    child.on('error', (error) => {
      problem ??= `could not be started: ${error.message}`;
      settle(null);
    });
    child.on('close', settle);
  });
}

/** The line that says what is wrong; without passwords that git puts into addresses. */
function lastLine(errors: string): string {
  const lines = errors.split('\n').filter((line) => line.trim() !== '');
  const found = lines.find((line) => /^(fatal|error|remote|ssh):/.test(line)) ?? lines.at(-1) ?? '';
  return found.replace(/:\/\/[^/@\s]*@/g, '://').slice(0, 500);
}
