// Runs one process to its end.
//
// 1. It leads a process group of its own and has no standard input.
// 2. It is over when its first process has ended, not when its pipe closes: another process may hold the pipe. Processes it left running get a moment
//    to end, are then asked to stop, and are killed after 2 s.
// 3. Standard output and error share one pipe, so their order is kept. The pipe is always read, and closed at the latest 2 s after the end.
// 4. On abort or timeout it is asked to stop and killed after 2 s; its output until then is kept.
// 5. The process is owned from the moment it exists: nothing is awaited between starting it and being able to end it, and none is started after an abort.
// 6. A process that could not be put into its sandbox counts as not started, whatever the exit code of the sandbox.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxedCommand } from '../../../ports/sandbox.ts';
import { signCommand, trackDescendants } from '../../../system/descendants.ts';
import { killAtExit } from '../../../system/kill-at-exit.ts';
import { monitorGroup, monitorNamespace, type ProcessMonitor } from '../../../system/process-monitor.ts';
import { createProcessGroup, type RemainingProcess } from '../../../system/remaining-processes.ts';
import { createToolRefusal, findErrorCode, type Refusal } from '../../refusal.ts';
import { readPipe, silenceMs } from './read-pipe.ts';

export interface ProcessRequest {
  argv: string[];
  cwd: string;
  env: Record<string, string>;
  timeoutMs: number | null;
  signal: AbortSignal;
  /** Set if `argv` and `env` start a sandbox. */
  sandboxed?: SandboxedCommand;
}

type EndCause = 'exit' | 'timeout' | 'stopped';

export interface ProcessResult {
  ok: true;
  cause: EndCause;
  /** Null if it was ended by a signal or could not be ended. */
  code: number | null;
  killedBy: string | null;
  output: string;
  /** Processes it had left running. */
  ended: RemainingProcess[];
  /** Processes that could not be ended. */
  alive: RemainingProcess[];
}

/** How long remaining processes may take to end without being asked: the reader of a `>(…)` ends a little later than its command. */
const settleMs = 1000;
const drainMs = 2000;
const markVariable = 'RETINUE_CALL';

// The first shell joins both outputs, enters the control groups, and then replaces itself with the command. Without a namespace, which has a gate of its
// own, it first waits for a line: what it starts inherits the priority by which it is recognised.
const gateFd = 3;
const gate = `read -r _ <&${gateFd} || exit 125; exec ${gateFd}<&-; `;
const script = 'exec 2>&1; while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"';

export async function runProcess(request: ProcessRequest): Promise<ProcessResult | Refusal> {
  if (request.signal.aborted) return { ok: true, cause: 'stopped', code: null, killedBy: null, output: '', ended: [], alive: [] };
  const mark = randomBytes(8).toString('hex');
  const { sandboxed } = request;
  const hasNamespace = sandboxed?.namespace === true;
  const args = ['-c', hasNamespace ? script : `${gate}${script}`, 'sh', ...(sandboxed?.join ?? []), '--', ...request.argv];
  let child: ChildProcess;
  try {
    const env = { ...request.env, [markVariable]: mark };
    const extraPipes = hasNamespace ? (['pipe', 'pipe'] as const) : (['pipe'] as const);
    child = spawn('/bin/sh', args, { cwd: request.cwd, env, detached: true, stdio: ['ignore', 'pipe', 'ignore', ...extraPipes] });
  } catch (error) {
    return createToolRefusal(startProblem(error, request));
  }
  const failed = new Promise<Error>((resolve) => child.on('error', resolve));
  if (child.pid === undefined) return createToolRefusal(startProblem(await failed, request));
  const forget = killAtExit(child.pid);
  signCommand(child.pid);
  const tracker = hasNamespace ? null : trackDescendants(child.pid);
  const group = createProcessGroup(child.pid, `${markVariable}=${mark}`, tracker ?? undefined);
  const monitor = hasNamespace ? monitorNamespace(child, sandboxed, group) : monitorGroup(child, group);
  const ending = waitForEnd(monitor, request);
  if (!hasNamespace) openGate(child.stdio[gateFd] as Writable);
  const pipe = readPipe(child.stdout);
  const cause = await ending;
  if (cause === 'exit') {
    const isUnsettled = () => (!hasNamespace && !pipe.isClosed()) || monitor.remaining().length > 0;
    for (const end = performance.now() + settleMs; isUnsettled() && performance.now() < end; ) await sleep(10);
  }
  const ended = cause === 'exit' ? monitor.remaining().filter(({ isCertain }) => isCertain) : [];
  const [alive] = await Promise.all([monitor.end(), cause === 'exit' ? pipe.drain(drainMs) : null]);
  if (cause !== 'exit') await pipe.drain(silenceMs);
  pipe.close();
  tracker?.stop();
  forget();
  // Only a process that the kernel cannot end is still there; it must not keep this process alive.
  child.unref();
  const { code, killedBy, notStarted } = monitor.result();
  const output = pipe.output.text();
  if (notStarted !== null && cause === 'exit')
    return createToolRefusal(`the sandbox could not be created, so the command was not started: ${notStarted || output.trim()}`);
  return { ok: true, cause, code, killedBy, output, ended, alive };
}

function openGate(stream: Writable): void {
  // A shell that has already ended shows in its exit.
  stream.on('error', () => {});
  stream.end('go\n');
}

/** Resolves with the first of exit, timeout and abort. */
function waitForEnd(monitor: ProcessMonitor, { timeoutMs, signal }: ProcessRequest): Promise<EndCause> {
  return new Promise((resolve) => {
    const onAbort = () => end('stopped');
    const timer = timeoutMs === null ? null : setTimeout(() => end('timeout'), timeoutMs);
    function end(cause: EndCause): void {
      if (timer !== null) clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      resolve(cause);
    }
    void monitor.exited.then(() => end('exit'));
    if (signal.aborted) return end('stopped');
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

function startProblem(error: unknown, { argv, cwd }: ProcessRequest): string {
  const code = findErrorCode(error);
  if (code === 'EAGAIN' || code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM') {
    return `the command was not started: the system has no resources for another process (${code}); try again later`;
  }
  if (code === 'ENOENT' || code === 'ENOTDIR') return `the command was not started: /bin/sh or the directory ${cwd} does not exist`;
  if (code === 'EACCES') return `the command was not started: permission denied (${argv[0]} in ${cwd})`;
  if (code === 'E2BIG') return 'the command was not started: it is too long; write it into a file';
  return `the command was not started: ${code || String(error)}`;
}
