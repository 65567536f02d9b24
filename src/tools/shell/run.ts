import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, endAll, type Leftover, leftovers } from '../../system/leftovers.ts';
import { codeOf, type Refusal, refuse } from '../refusal.ts';
import { remember } from './at-exit.ts';
import { Output } from './output.ts';

/**
 * Running one command.
 *
 * 1. It leads a process group of its own and gets nothing on standard input.
 * 2. It is over when its first process has ended, not when its pipe is closed: somebody else may hold that. What it left running then has
 *    a moment to end by itself and is ended otherwise: asked, and killed after 2 s.
 * 3. Standard output and error are one pipe, so they keep their order. It is always read, and closed 2 s after the end at the latest.
 * 4. Told to stop, or out of time, it is asked, and killed after 2 s; what it wrote until then is kept.
 */
export interface Order {
  argv: string[];
  cwd: string;
  env: Record<string, string>;
  timeoutMs: number | null;
  signal: AbortSignal;
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
/** After the end the pipe is read until it is closed, or silent for this long. */
const silenceMs = 250;
const drainMs = 2000;
const markName = 'RETINUE_CALL';

// The shell that begins joins the two outputs and then becomes the command.
const joinOutputs = ['/bin/sh', '-c', 'exec 2>&1; exec "$@"', 'sh'];

export async function run(order: Order): Promise<Ran> {
  const mark = randomBytes(8).toString('hex');
  const [program, ...rest] = [...joinOutputs, ...order.argv] as [string, ...string[]];
  let child: ChildProcess;
  try {
    const env = { ...order.env, [markName]: mark };
    child = spawn(program, rest, { cwd: order.cwd, env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  } catch (error) {
    return refuse(startProblem(error, order));
  }
  const pipe = readPipe(child);
  const problem = await new Promise<Error | null>((resolve) => {
    child.once('error', resolve);
    child.once('spawn', () => resolve(null));
  });
  if (problem !== null || child.pid === undefined) return refuse(startProblem(problem, order));
  const command: Command = { pid: child.pid, mark: `${markName}=${mark}` };
  const forget = remember(child.pid);
  const cause = await firstCause(child, order);
  if (cause === 'exit') {
    const isLeft = () => !pipe.isClosed() || leftovers(command).length > 0;
    for (const end = performance.now() + settleMs; isLeft() && performance.now() < end; ) await sleep(10);
  }
  const ended = cause === 'exit' ? leftovers(command) : [];
  const [alive] = await Promise.all([endAll(command), cause === 'exit' ? pipe.drain(drainMs) : null]);
  if (cause !== 'exit') await pipe.drain(silenceMs);
  pipe.close();
  forget();
  // Only a process that the system cannot end is still there.
  child.unref();
  return { ok: true, cause, code: child.exitCode, killedBy: child.signalCode, output: pipe.output.text(), ended, alive };
}

function firstCause(child: ChildProcess, { timeoutMs, signal }: Order): Promise<'exit' | 'timeout' | 'stopped'> {
  return new Promise((resolve) => {
    const onAbort = () => end('stopped');
    const timer = timeoutMs === null ? null : setTimeout(() => end('timeout'), timeoutMs);
    const onExit = () => end('exit');
    function end(cause: 'exit' | 'timeout' | 'stopped'): void {
      if (timer !== null) clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      child.off('exit', onExit);
      resolve(cause);
    }
    if (child.exitCode !== null || child.signalCode !== null) return end('exit');
    child.once('exit', onExit);
    if (signal.aborted) return end('stopped');
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

interface Pipe {
  output: Output;
  isClosed(): boolean;
  /** Waits for the end of what is in it. */
  drain(ms: number): Promise<void>;
  close(): void;
}

function readPipe({ stdout }: ChildProcess): Pipe {
  const output = new Output();
  let last = 0;
  let closed = false;
  stdout?.on('data', (chunk: Buffer) => {
    last = performance.now();
    output.add(chunk);
    free(chunk);
  });
  stdout?.on('error', () => {});
  stdout?.once('close', () => {
    closed = true;
  });
  return {
    output,
    isClosed: () => closed,
    async drain(ms) {
      const end = performance.now() + ms;
      last = performance.now();
      while (!closed && performance.now() < Math.min(end, last + silenceMs)) await sleep(10);
    },
    close: () => void stdout?.destroy(),
  };
}

/** Gives the memory back at once: of a command that writes much, some hundred megabytes would else wait for the collector. */
function free(chunk: Buffer): void {
  if (chunk.byteLength === chunk.buffer.byteLength && chunk.buffer instanceof ArrayBuffer) chunk.buffer.transfer(0);
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
