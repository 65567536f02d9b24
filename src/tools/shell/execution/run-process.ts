import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxedCommand } from '../../../ports/sandbox.ts';
import { remember } from '../../../system/kill-at-exit.ts';
import type { Leftover } from '../../../system/remaining-processes.ts';
import { codeOf, type Refusal, refuse } from '../../refusal.ts';
import { boxedLife, type Life, plainLife } from './process-monitor.ts';
import { readPipe, silenceMs } from './read-pipe.ts';

/**
 * Running one command.
 *
 * 1. It leads a process group of its own and gets nothing on standard input.
 * 2. It is over when its first process has ended, not when its pipe is closed: somebody else may hold that. What it left running then has
 *    a moment to end by itself and is ended otherwise: asked, and killed after 2 s.
 * 3. Standard output and error are one pipe, so they keep their order. It is always read, and closed 2 s after the end at the latest.
 * 4. Told to stop, or out of time, it is asked, and killed after 2 s; what it wrote until then is kept.
 * 5. What could not be put into its sandbox was not started, whatever the sandbox's own exit code is.
 */
export interface Order {
  argv: string[];
  cwd: string;
  env: Record<string, string>;
  timeoutMs: number | null;
  signal: AbortSignal;
  /** How it is confined; `argv` and `env` are what confines it. */
  box?: Pick<SandboxedCommand, 'join' | 'namespace' | 'begun'> | undefined;
}

export type Ran =
  | {
      ok: true;
      cause: 'exit' | 'timeout' | 'stopped';
      /** Null where it was ended by a signal, or could not be ended. */
      code: number | null;
      killedBy: string | null;
      output: string;
      /** What it had left running, and what of it could not be ended. */
      ended: Leftover[];
      alive: Leftover[];
    }
  | Refusal;

/** What is left may end by itself for this long: the reader at the end of a `>(…)` still has to. */
const settleMs = 200;
const drainMs = 2000;
const markName = 'RETINUE_CALL';

// The shell that begins joins the two outputs, and the groups that hold its limits, and then becomes the command.
const script = 'exec 2>&1; while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"';

export async function run(order: Order): Promise<Ran> {
  const mark = randomBytes(8).toString('hex');
  const { box } = order;
  const args = ['-c', script, 'sh', ...(box?.join ?? []), '--', ...order.argv];
  let child: ChildProcess;
  try {
    const env = { ...order.env, [markName]: mark };
    const more = box?.namespace ? (['pipe', 'pipe'] as const) : [];
    child = spawn('/bin/sh', args, { cwd: order.cwd, env, detached: true, stdio: ['ignore', 'pipe', 'ignore', ...more] });
  } catch (error) {
    return refuse(startProblem(error, order));
  }
  const pipe = readPipe(child.stdout);
  const problem = await new Promise<Error | null>((resolve) => {
    child.once('error', resolve);
    child.once('spawn', () => resolve(null));
  });
  if (problem !== null || child.pid === undefined) return refuse(startProblem(problem, order));
  yieldTo(child.pid);
  const forget = remember(child.pid);
  const life = box?.namespace
    ? boxedLife(child, (init) => box.begun?.(init) ?? null)
    : plainLife(child, { pid: child.pid, mark: `${markName}=${mark}` });
  const cause = await firstCause(life, order);
  if (cause === 'exit') {
    const isLeft = () => (!box?.namespace && !pipe.isClosed()) || life.left().length > 0;
    for (const end = performance.now() + settleMs; isLeft() && performance.now() < end; ) await sleep(10);
  }
  const ended = cause === 'exit' ? life.left() : [];
  const [alive] = await Promise.all([life.end(), cause === 'exit' ? pipe.drain(drainMs) : null]);
  if (cause !== 'exit') await pipe.drain(silenceMs);
  pipe.close();
  forget();
  // Only a process that the system cannot end is still there.
  child.unref();
  const { code, killedBy, refused } = life.result();
  const output = pipe.output.text();
  if (refused !== null && cause === 'exit')
    return refuse(`the sandbox could not be made, so the command was not started: ${refused || output.trim()}`);
  return { ok: true, cause, code, killedBy, output, ended, alive };
}

function firstCause(life: Life, { timeoutMs, signal }: Order): Promise<'exit' | 'timeout' | 'stopped'> {
  return new Promise((resolve) => {
    const onAbort = () => end('stopped');
    const timer = timeoutMs === null ? null : setTimeout(() => end('timeout'), timeoutMs);
    function end(cause: 'exit' | 'timeout' | 'stopped'): void {
      if (timer !== null) clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      resolve(cause);
    }
    void life.over.then(() => end('exit'));
    if (signal.aborted) return end('stopped');
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** Commands give way to this process: it must answer whatever they do. What they start takes it over. */
function yieldTo(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has ended already, or the system does not let us.
  }
}

function startProblem(error: unknown, { argv, cwd }: Order): string {
  const code = codeOf(error);
  if (code === 'EAGAIN' || code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM') {
    return `the command was not started: the system has no room for another process (${code}); try again later`;
  }
  if (code === 'ENOENT' || code === 'ENOTDIR') return `the command was not started: there is no /bin/sh, or no directory ${cwd}`;
  if (code === 'EACCES') return `the command was not started: permission denied (${argv[0]} in ${cwd})`;
  if (code === 'E2BIG') return 'the command was not started: it is too long; write it into a file';
  return `the command was not started: ${code || String(error)}`;
}
