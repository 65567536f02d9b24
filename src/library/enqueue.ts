// `enqueue`: a brief for a worker of another process.
import type { Api } from '../api/api.ts';
import { RetinueError } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import { parseWantedResult } from '../flows/result.ts';
import { checkQueueOptions } from './options.ts';
import type { Retinue } from './types.ts';

/** `hasModelName`: the model of the program has a name that a worker can resolve. `hasQueue`: the program gave a store with queues. */
export function createEnqueue(api: Api, { hasModelName, hasQueue }: { hasModelName: boolean; hasQueue: boolean }): Retinue['enqueue'] {
  return async <T>(brief: Parameters<Retinue['enqueue']>[0], options: Parameters<Retinue['enqueue']>[1] = {}) => {
    checkQueueOptions(options);
    if (!hasQueue)
      throw new RetinueError(
        'usage',
        'no worker can see the runs of this program; pass a store with queues to `createRetinue`, such as `await openPostgresStore({ url })` of `retinue/postgres`',
      );
    if (!hasModelName && brief.model === undefined)
      throw new RetinueError('usage', 'a worker finds models by their names; give the brief a `model` such as "anthropic/…" to queue it');
    const { queue = 'default', priority, group, startAfter, ...trace } = options;
    // What JSON Schema cannot express is checked here at the end: the worker has only the schema.
    const { form, typeOutcome } = parseWantedResult<T>(brief.result as Parameters<typeof parseWantedResult<T>>[0]);
    const { runId, isNew } = await api.enqueue(
      { ...brief, ...(form ? { result: form } : {}) },
      {
        job: {
          queue,
          ...(priority !== undefined && { priority }),
          ...(group !== undefined && { group }),
          ...(startAfter !== undefined && { startAfter: startAfter.toISOString() }),
        },
        usesWorkspace: true,
        trace,
      },
    );
    const wait = async () => {
      const [outcome] = await api.wait([runId], { any: false, signal: new AbortController().signal });
      if (!outcome) throw new RetinueError('cancelled', `the wait for run ${runId} was cancelled`);
      return typeOutcome(outcome as Outcome);
    };
    let waiting: ReturnType<typeof wait> | null = null;
    return {
      id: runId,
      isNew,
      get outcome() {
        waiting ??= wait();
        return waiting;
      },
      events: (more) => api.events(runId, more),
      cancel: async (reason) => void (await api.cancel([runId], reason)),
    };
  };
}
