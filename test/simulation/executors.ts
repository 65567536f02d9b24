// Tool executors of a simulated process: in it, or in a simulated process per run that can die on its own. Messages between the two take their time and
// keep their order.
import { RetinueError } from '../../src/contract/error.ts';
import { inlineExecutor } from '../../src/hosts/inline.ts';
import type { ExecutorCall, ToolExecutor, ToolSession } from '../../src/ports/tool-executor.ts';
import type { Life } from './life.ts';
import { type Outside, toolsOf } from './ports.ts';

/** Executes in this process, and sometimes fails when it opens. */
export function inlineExecutorOf(life: Life): ToolExecutor {
  return {
    name: 'inline',
    open(run) {
      const session = inlineExecutor.open(run);
      if (!life.fails('host')) return { ...session, close: () => life.point() };
      const failed = life.point().then(() => new RetinueError('crashed', 'the executor failed to open'));
      return { ...session, failed };
    },
  };
}

/** Executes portable tools in a process of its own, which may die at any message. */
export function processExecutorOf(life: Life, outside: Outside): ToolExecutor {
  return { name: 'process', open: (run) => openProcess(life, outside, run.signal) };
}

function openProcess(life: Life, outside: Outside, signal: AbortSignal): ToolSession {
  const own = createMortal(life);
  const toProcess = createPipe(own.life);
  const toSupervisor = createPipe(life);
  const tools = new Map(toolsOf(own.life, outside).map((tool) => [tool.name, tool]));
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
        if (life.fails('host')) return breakDown();
        const result = tools.get(tool.name)?.execute(input, { ...context, signal: stop.signal });
        result?.then(
          (value) => toSupervisor(() => resolve(value)),
          (error) => toSupervisor(() => reject(error)),
        );
      });
    });
  }

  signal.addEventListener('abort', () => void life.sleep(2000).then(own.die), { once: true });
  return {
    call,
    failed: failed.promise,
    async close() {
      await life.point();
      own.die();
    },
  };
}

/** Delivers in order, each message after some time. */
function createPipe(life: Life): (deliver: () => void) => void {
  let last = Promise.resolve();
  return (deliver) => {
    last = last.then(life.point).then(deliver);
  };
}

/** A process that can die before the one that started it: nothing it does afterwards takes effect. */
function createMortal(life: Life): { life: Life; die(): void } {
  let isDead = false;
  const unlessDead = () => (isDead ? new Promise<never>(() => {}) : undefined);
  return {
    life: {
      ...life,
      point: () => life.point().then(unlessDead),
      sleep: (ms, signal) => life.sleep(ms, signal).then(unlessDead),
    },
    die() {
      isDead = true;
    },
  };
}
