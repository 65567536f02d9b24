// What happens in a run, for a reader in this process: facts from the store, from a cursor on, and deltas as they arrive.
import type { Delta } from '../contract/delta.ts';
import type { Fact, StoredFact } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import { type ChangeSource, followFacts } from './follow.ts';

export interface EventOptions {
  /** The position of the last fact seen; events from there on. */
  after?: string;
  /** With everything below the run. */
  tree?: boolean;
  signal?: AbortSignal;
}

/** A slow reader loses deltas, never facts. */
const maxWaiting = 1000;

/** Ends with the run's `run.ended`. */
export async function* runEvents(
  row: Pick<RunRow, 'runId' | 'rootId'>,
  options: EventOptions,
  source: ChangeSource,
): AsyncGenerator<StoredFact | Delta> {
  const stop = new AbortController();
  const end = () => stop.abort();
  options.signal?.addEventListener('abort', end, { once: true });
  if (options.signal?.aborted) end();
  const waiting: Delta[] = [];
  let wake = Promise.withResolvers<void>();
  const onEvent = (event: Fact | Delta) => {
    if (event.type !== 'delta' || waiting.length >= maxWaiting) return;
    if (event.runId !== row.runId && !options.tree) return;
    waiting.push(event);
    wake.resolve();
  };
  source.listeners.add(onEvent);
  const facts = followFacts(
    row,
    { ...(options.tree ? { tree: true } : {}), ...(options.after === undefined ? {} : { after: options.after }), signal: stop.signal },
    source,
  );
  try {
    for (let next = facts.next(); ; ) {
      const first = await Promise.race([next, wake.promise.then(() => null)]);
      yield* waiting.splice(0);
      wake = Promise.withResolvers();
      if (first === null) continue;
      if (first.done) return;
      yield first.value;
      next = facts.next();
    }
  } finally {
    source.listeners.delete(onEvent);
    options.signal?.removeEventListener('abort', end);
    stop.abort();
  }
}
