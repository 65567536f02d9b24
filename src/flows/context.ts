// The `flow` that a program gets: typed and composed from the recorded steps of the kernel.
import { AsyncLocalStorage } from 'node:async_hooks';
import { RetinueError } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { FlowSteps } from '../ports/flow.ts';
import type { Flow, FlowBrief } from './definition.ts';
import { parseWantedResult } from './result.ts';
import { shortenLine } from './virtual-path.ts';

/** The side effect that the current code belongs to. Code that it leaves behind, such as timers, still does when it has ended. */
const currentEffect = new AsyncLocalStorage<{ flow: Flow; name: string; isRunning: boolean }>();

const defaultStepMs = 600_000;
const defaultAskMs = 86_400_000;
const defaultConcurrency = 8;

/** `hasLines`: steps are recorded with the source line of their call. */
export function createFlow(steps: FlowSteps, { hasLines = true }: { hasLines?: boolean } = {}): Flow {
  /** Returns the source line of the call. A side effect is not executed again after a crash, so steps that it begins would be missing then. */
  function begin(method: (...args: never[]) => unknown): string {
    const effect = currentEffect.getStore();
    if (effect?.flow === flow && effect.isRunning) {
      const problem = `flow.${method.name} was called inside the side effect of the step \`${effect.name}\``;
      throw new RetinueError('usage', `${problem}, which is not executed again after a crash; call it before or after that step`);
    }
    return hasLines ? callerLine(method) : '';
  }

  /** The step of each delegation, so that `any` can cancel it. */
  const delegated = new WeakMap<Promise<unknown>, number>();

  const flow: Flow = {
    workspace: steps.workspace,
    delegate<T>(brief: FlowBrief<T>) {
      const at = begin(flow.delegate);
      const { form, check, typeOutcome } = parseWantedResult<T>(brief.result, { mustBeSync: true });
      const names = { name: brief.label ?? firstLine(brief.task), formerName: brief.label ?? brief.agent };
      const { step, outcome } = steps.delegate({ ...brief, ...(form ? { result: form } : {}) }, { ...names, check }, at);
      const typed = outcome.then(typeOutcome);
      // A program that ends without looking at it must not end the process.
      typed.catch(() => {});
      delegated.set(typed, step);
      return typed;
    },
    async all(promises) {
      const settled: PromiseSettledResult<unknown>[] = await Promise.allSettled(promises);
      const failed = settled.find((each) => each.status === 'rejected');
      if (failed) throw failed.reason;
      return settled.map((each) => (each as PromiseFulfilledResult<unknown>).value) as never;
    },
    any<T>(promises: readonly Promise<T>[], options: { count?: number; accept?: (value: T) => boolean } = {}) {
      const { count = 1, accept = isSuccess } = options;
      assertCount('count', count);
      return new Promise<T[]>((resolve, reject) => {
        const results: T[] = [];
        let open = promises.length;
        const end = () => {
          for (const promise of promises) cancelOpen(promise);
          resolve(results);
        };
        const settle = () => {
          if (results.length === count || --open === 0) end();
        };
        if (open === 0) end();
        for (const promise of promises)
          promise.then(
            (value) => {
              delegated.delete(promise);
              if (results.length === count) return;
              try {
                if (accept(value)) results.push(value);
                settle();
              } catch (error) {
                reject(error);
              }
            },
            () => {
              delegated.delete(promise);
              if (results.length < count) settle();
            },
          );
      });
    },
    async map(items, work, { concurrency = defaultConcurrency } = {}) {
      assertCount('concurrency', concurrency);
      const results: unknown[] = [];
      const remaining = items.entries();
      let failure: { error: unknown } | null = null;
      const next = async () => {
        for (const [index, item] of remaining) {
          if (failure) return;
          try {
            results[index] = await work(item, index);
          } catch (error) {
            failure ??= { error };
          }
        }
      };
      await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, next));
      if (failure) throw (failure as { error: unknown }).error;
      return results as never;
    },
    step(name, effect, { idempotent = false, timeoutMs = defaultStepMs } = {}) {
      assertCount('timeoutMs', timeoutMs);
      return steps.step(name, (signal) => runEffect(name, () => effect({ signal })), { idempotent, timeoutMs }, begin(flow.step)) as never;
    },
    ask(question, { timeoutMs = defaultAskMs } = {}) {
      assertCount('timeoutMs', timeoutMs);
      return steps.ask(question, { timeoutMs }, begin(flow.ask));
    },
    sleep(ms) {
      if (!Number.isFinite(ms) || ms < 0) throw new RetinueError('usage', 'flow.sleep takes a number of milliseconds');
      return steps.sleep(Math.round(ms), begin(flow.sleep));
    },
    log: (text) => steps.log(String(text), begin(flow.log)),
    apply(runs) {
      const runIds = runs.map(({ runId }) => runId);
      const work = () => (runIds.length === 0 ? { applied: [], conflicts: [], left: [] } : steps.apply(runIds));
      // Changes that were applied already are not applied again.
      return steps.step('apply', work, { idempotent: true, timeoutMs: defaultStepMs }, begin(flow.apply)) as never;
    },
  };

  async function runEffect(name: string, effect: () => unknown): Promise<unknown> {
    const current = { flow, name, isRunning: true };
    try {
      return await currentEffect.run(current, effect);
    } finally {
      current.isRunning = false;
    }
  }

  function cancelOpen(promise: Promise<unknown>): void {
    const step = delegated.get(promise);
    if (step !== undefined) steps.cancel(step, 'enough results without it');
  }

  return flow;
}

function isSuccess(value: unknown): boolean {
  return typeof value !== 'object' || value === null || (value as Partial<Outcome>).success !== false;
}

function assertCount(name: string, value: number): void {
  if (!Number.isInteger(value) || value < 1) throw new RetinueError('usage', `\`${name}\` must be a whole number above 0`);
}

function firstLine(task: unknown): string {
  const [line = ''] = String(task ?? '')
    .trim()
    .split('\n', 1);
  return line.slice(0, 80);
}

/** `review.ts:12`, of the code that called `callee`. */
function callerLine(callee: (...args: never[]) => unknown): string {
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, callee);
  return shortenLine(holder.stack ?? '');
}
