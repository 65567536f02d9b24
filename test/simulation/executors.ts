// Tool executors of a simulated process: in the process itself, or in a simulated child process per run that can die separately. Messages between the
// two are delayed but keep their order.
import { RetinueError } from '../../src/contract/error.ts';
import { inlineExecutor } from '../../src/hosts/inline.ts';
import type { StopSignal } from '../../src/ports/stop.ts';
import type { ExecutorCall, ToolExecutor, ToolSession } from '../../src/ports/tool-executor.ts';
import { createTools, type Outside } from './ports.ts';
import type { SimulatedProcess } from './process.ts';

/** Executes in this process, and sometimes fails when it opens. */
export function createInlineExecutor(proc: SimulatedProcess): ToolExecutor {
  return {
    name: 'inline',
    open(run) {
      const session = inlineExecutor.open(run);
      if (!proc.fails('host')) return { ...session, close: () => proc.point() };
      const failed = proc.point().then(() => new RetinueError('crashed', 'the executor failed to open'));
      return { ...session, failed };
    },
  };
}

/** Executes portable tools in a process of its own, which may die at any message. */
export function createProcessExecutor(proc: SimulatedProcess, outside: Outside): ToolExecutor {
  return { name: 'process', open: (run) => openProcess(proc, outside, run.signal) };
}

function openProcess(proc: SimulatedProcess, outside: Outside, signal: StopSignal): ToolSession {
  const own = createChildProcess(proc);
  const toProcess = createPipe(own.proc);
  const toSupervisor = createPipe(proc);
  const tools = new Map(createTools(own.proc, outside).map((tool) => [tool.name, tool]));
  const failed = Promise.withResolvers<RetinueError>();
  const pending = new Set<(error: Error) => void>();

  function breakDown(): void {
    own.die();
    const error = new RetinueError('crashed', 'the process of the run died');
    failed.resolve(error);
    for (const reject of pending) reject(error);
  }

  function call({ tool, input, context }: ExecutorCall): Promise<unknown> {
    if (!tool.portable) return tool.execute(input, context);
    return new Promise((resolve, reject) => {
      pending.add(reject);
      const stop = new AbortController();
      context.signal.addEventListener('abort', () => toProcess(() => stop.abort()), { once: true });
      toProcess(async () => {
        if (proc.fails('host')) return breakDown();
        const result = tools.get(tool.name)?.execute(input, { ...context, signal: stop.signal });
        result?.then(
          (value) => toSupervisor(() => resolve(value)),
          (error) => toSupervisor(() => reject(error)),
        );
      });
    });
  }

  signal.addEventListener('abort', () => void proc.sleep(2000).then(own.die), { once: true });
  return {
    call,
    failed: failed.promise,
    async close() {
      await proc.point();
      own.die();
    },
  };
}

/** Delivers in order, each message after some time. */
function createPipe(proc: SimulatedProcess): (deliver: () => void) => void {
  let last = Promise.resolve();
  return (deliver) => {
    last = last.then(proc.point).then(deliver);
  };
}

/** A process that can die before the one that started it: nothing it does afterwards takes effect. */
function createChildProcess(proc: SimulatedProcess): { proc: SimulatedProcess; die(): void } {
  let isDead = false;
  const unlessDead = () => (isDead ? new Promise<never>(() => {}) : undefined);
  return {
    proc: {
      ...proc,
      point: () => proc.point().then(unlessDead),
      sleep: (ms, signal) => proc.sleep(ms, signal).then(unlessDead),
    },
    die() {
      isDead = true;
    },
  };
}
