// `enqueue`: a brief for a worker of another process.
import type { Api } from '../api/api.ts';
import { RetinueError } from '../contract/error.ts';
import type { Outcome } from '../contract/outcome.ts';
import { parseWantedResult } from '../flows/result.ts';
import { checkQueueOptions } from './options.ts';
import type { Retinue } from './types.ts';

/** `hasModelName`: the model of the program has a name that a worker can resolve. */
export function createEnqueue(api: Api, { hasModelName }: { hasModelName: boolean }): Retinue['enqueue'] {
  return async <T>(brief: Parameters<Retinue['enqueue']>[0], options: Parameters<Retinue['enqueue']>[1] = {}) => {
    checkQueueOptions(options);
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
    return {
      id: runId,
      isNew,
      async outcome({ signal = new AbortController().signal } = {}) {
        const [outcome] = await api.wait([runId], { any: false, signal });
        if (!outcome) throw new RetinueError('cancelled', `the wait for run ${runId} was cancelled`);
        return typeOutcome(outcome as Outcome);
      },
      events: (more) => api.events(runId, more),
      cancel: async (reason) => void (await api.cancel([runId], reason)),
    };
  };
}
