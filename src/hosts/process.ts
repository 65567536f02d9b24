// Executes the tools of each run in a process of its own. Tools that need more than the workspace (a shell, the network, delegation) execute in the
// supervisor. See process/protocol.ts for what the two say to each other.
//
// H1. `close` resolves when neither the process nor anything it started is left.
// H2. A process that ends before the session is closed fails it: `crashed` by a signal or an error, `no_result` by a normal exit.
// H3. A process that answers no ping for two intervals is stuck and is killed. A late timer of ours is no sign of that.
// H4. Told to stop, the process has 2 s; then its whole group is killed.
import { RetinueError } from '../contract/error.ts';
import type { ExecutorCall, ToolExecutor, ToolSession, ToolSessionOptions } from '../ports/tool-executor.ts';
import { readLines, writeLine } from './process/lines.ts';
import { FromProcess, type ToProcess } from './process/protocol.ts';
import { type ProcessOptions, startProcess, type ToolProcess } from './process/spawn.ts';

export interface ProcessExecutorOptions extends ProcessOptions {
  heartbeatMs?: number;
}

const defaultHeartbeatMs = 5000;
const graceMs = 2000;
/** The longest output that is collected from pieces. */
const maxOutputLength = 64 * 1024 * 1024;

export function createProcessExecutor(options: ProcessExecutorOptions): ToolExecutor {
  return { name: 'process', open: (session) => new ProcessSession(session, options) };
}

interface PendingCall {
  call: ExecutorCall;
  output: string;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

class ProcessSession implements ToolSession {
  readonly failed: Promise<RetinueError>;
  readonly #options: ProcessExecutorOptions;
  readonly #run: ToolSessionOptions;
  readonly #fail: (error: RetinueError) => void;
  readonly #pending = new Map<number, PendingCall>();
  readonly #process: Promise<ToolProcess | null>;
  #started: ToolProcess | null = null;
  #waiting: ToProcess[] = [];
  #calls = 0;
  #failure: RetinueError | null = null;
  #isStopping = false;
  #hasExited = false;
  #killTimer: NodeJS.Timeout | undefined;
  #endHeartbeat = () => {};
  #beat = () => {};
  readonly #onAbort = () => this.#stop();

  constructor(run: ToolSessionOptions, options: ProcessExecutorOptions) {
    this.#run = run;
    this.#options = options;
    const failed = Promise.withResolvers<RetinueError>();
    this.failed = failed.promise;
    this.#fail = failed.resolve;
    this.#send({ type: 'start', runId: run.runId, workspace: run.workspace, readable: run.readable ?? [], memo: [...run.memo] });
    this.#process = this.#start();
    if (run.signal.aborted) this.#stop();
    else run.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  call(call: ExecutorCall): Promise<unknown> {
    const { tool, input, context } = call;
    if (!tool.portable) return tool.execute(input, context);
    if (this.#failure) return Promise.reject(this.#failure);
    const id = ++this.#calls;
    const cancel = () => this.#send({ type: 'cancel', id });
    context.signal.addEventListener('abort', cancel, { once: true });
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { call, output: '', resolve, reject });
      const { closedPaths } = call.context.rights;
      this.#send({ type: 'call', id, tool: tool.name, arguments: call.arguments, closedPaths });
    }).finally(() => context.signal.removeEventListener('abort', cancel));
  }

  async close(): Promise<void> {
    this.#stop();
    this.#run.signal.removeEventListener('abort', this.#onAbort);
    const child = await this.#process;
    if (child) {
      await child.exit;
      this.#endHeartbeat();
      clearTimeout(this.#killTimer);
      await child.end();
    }
    this.#rejectAll(new Error('the session was closed'));
  }

  async #start(): Promise<ToolProcess | null> {
    let child: ToolProcess;
    try {
      child = await startProcess(this.#options, this.#run.runId);
    } catch (error) {
      this.#break(error as RetinueError);
      return null;
    }
    this.#started = child;
    child.channel.on('error', () => {}); // a broken pipe shows as the process's exit
    readLines(
      child.channel,
      (line) => this.#receive(parseMessage(line)),
      (error) => this.#break(error instanceof RetinueError ? error : invalidReply('reply', error.message)),
    );
    for (const message of this.#waiting) writeLine(child.channel, message);
    this.#waiting = [];
    this.#watchHeartbeat(child);
    if (this.#isStopping) this.#killLater();
    void child.exit.then(({ code, signal }) => this.#onExit(child, code, signal));
    return child;
  }

  #send(message: ToProcess): void {
    if (this.#started) writeLine(this.#started.channel, message);
    else this.#waiting.push(message);
  }

  #receive(message: FromProcess): void {
    if (message.type === 'pong') {
      this.#beat();
      return;
    }
    const pending = this.#pending.get(message.id);
    if (!pending) throw invalidReply('id', `no call ${message.id} is open`);
    switch (message.type) {
      case 'target':
        void this.#judge(message.id, pending, message.subjects);
        return;
      case 'output':
        pending.output += message.text;
        if (pending.output.length > maxOutputLength) throw invalidReply('output', `it is longer than ${maxOutputLength} characters`);
        return;
      case 'result': {
        this.#pending.delete(message.id);
        for (const [key, value] of message.memo) pending.call.context.memo.set(key, value);
        // Only the supervisor's own tools report children.
        const { told: _, ...result } = message.result;
        pending.resolve(pending.output === '' ? result : { ...result, output: pending.output });
        return;
      }
      case 'error':
        this.#pending.delete(message.id);
        pending.reject(new Error(message.message));
    }
  }

  async #judge(id: number, { call }: PendingCall, subjects: Parameters<ExecutorCall['context']['confirmTarget']>[0]): Promise<void> {
    let denial: string | null = null;
    try {
      await call.context.confirmTarget(subjects);
    } catch (error) {
      denial = (error as Error).message;
    }
    this.#send({ type: 'verdict', id, denial });
  }

  #onExit(child: ToolProcess, code: number | null, signal: string | null): void {
    this.#hasExited = true;
    clearTimeout(this.#killTimer);
    if (this.#isStopping) this.#rejectAll(new Error('the process of the run was stopped'));
    else if (code === 0) this.#break(new RetinueError('no_result', 'the process of the run ended without being told to'));
    else this.#break(new RetinueError('crashed', `the process of the run ended: ${signal ?? `exit code ${code}`}${lastOutput(child)}`));
  }

  /** Fails the session, once. */
  #break(error: RetinueError): void {
    this.#started?.kill();
    if (this.#failure || this.#isStopping) return;
    this.#failure = error;
    this.#fail(error);
    this.#rejectAll(error);
  }

  #rejectAll(error: Error): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }

  #stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#send({ type: 'stop' });
    if (this.#started) this.#killLater();
  }

  /** Never for a process that has exited: its number may belong to another one by then. */
  #killLater(): void {
    if (!this.#hasExited) this.#killTimer ??= setTimeout(() => this.#started?.kill(), graceMs);
  }

  #watchHeartbeat(child: ToolProcess): void {
    const everyMs = this.#options.heartbeatMs ?? defaultHeartbeatMs;
    let missed = 0;
    let due = performance.now() + everyMs;
    const timer = setInterval(() => {
      const now = performance.now();
      // If this process was busy, answers may not have been read yet.
      const isLate = now - due > everyMs / 2;
      due = now + everyMs;
      if (!isLate && missed >= 1) {
        this.#break(new RetinueError('crashed', `the process of the run sent no heartbeat for ${2 * everyMs} ms and was killed`));
        return;
      }
      if (!isLate) missed++;
      writeLine(child.channel, { type: 'ping' });
    }, everyMs);
    timer.unref();
    writeLine(child.channel, { type: 'ping' });
    this.#beat = () => {
      missed = 0;
    };
    this.#endHeartbeat = () => clearInterval(timer);
  }
}

function parseMessage(line: string): FromProcess {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw invalidReply('reply', 'it is not JSON');
  }
  const parsed = FromProcess.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw invalidReply(issue?.path.join('.') || 'reply', issue?.message ?? 'it has another form');
}

function invalidReply(path: string, why: string): RetinueError {
  return new RetinueError('invalid_reply', `${path}: ${why}`);
}

function lastOutput(child: ToolProcess): string {
  const line = child
    .lastOutput()
    .replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim();
  return line === '' ? '' : ` (it last wrote: ${line.slice(-300)})`;
}
