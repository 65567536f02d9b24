// `delegate` and `all`, over whatever starts a run: the API, or the client run of a scope.
import type { Api, RunHandle } from '../api/api.ts';
import { RetinueError } from '../contract/error.ts';
import { parseWantedResult } from '../flows/result.ts';
import { checkAllOptions, checkDelegateOptions } from './options.ts';
import type { BriefFor, Delegating, OutcomeOf, Run, TraceOptions } from './types.ts';

type StartRun = (brief: unknown, options?: Parameters<Api['start']>[1]) => Promise<RunHandle>;

const defaultConcurrency = 8;

export function createDelegating(startRun: StartRun, api: Api): Delegating {
  async function delegate<T>(brief: BriefFor<T>, trace: TraceOptions = {}): Promise<Run<T>> {
    if (typeof brief !== 'object' || brief === null)
      throw new RetinueError('invalid_brief', 'a brief is an object with a `task`, such as `{ task: "Find the bug" }`');
    checkDelegateOptions(trace);
    const { form, check, typeOutcome } = parseWantedResult<T>(brief.result);
    const run = await startRun({ ...brief, ...(form ? { result: form } : {}) }, { ...(check ? { check } : {}), trace });
    return {
      id: run.id,
      outcome: run.outcome.then(typeOutcome),
      events: (options) => api.events(run.id, options),
      send: (text, rules) => run.send(text, 'the program', rules),
      cancel: (reason) => run.cancel(reason),
    };
  }
  return {
    delegate,
    async all(briefs: readonly BriefFor<unknown>[], options: { concurrency?: number } & TraceOptions = {}) {
      checkAllOptions(options);
      const { concurrency = defaultConcurrency, ...trace } = options;
      const settled: PromiseSettledResult<OutcomeOf<unknown>>[] = [];
      const remaining = briefs.entries();
      const work = async () => {
        for (const [i, brief] of remaining) {
          const [result] = await Promise.allSettled([delegate(brief, trace).then((run) => run.outcome)]);
          settled[i] = result as PromiseSettledResult<OutcomeOf<unknown>>;
        }
      };
      await Promise.all(Array.from({ length: concurrency }, work));
      return settled as never;
    },
  };
}
