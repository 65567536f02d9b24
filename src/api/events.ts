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
  // Deltas stand between the question and the answer that they belong to; a reader from a cursor has seen the question before.
  const asked = new Set<string>();
  const ready = (delta: Delta) => options.after !== undefined || asked.has(`${delta.runId} ${delta.turn}`);
  const due = () => {
    const now = waiting.filter(ready);
    waiting.splice(0, waiting.length, ...waiting.filter((delta) => !ready(delta)));
    return now;
  };
  source.listeners.add(onEvent);
  const { tree = false, after } = options;
  const facts = followFacts(row, { tree, ...(after === undefined ? {} : { after }), signal: stop.signal }, source);
  try {
    for (let next = facts.next(); ; ) {
      const first = await Promise.race([next, wake.promise.then(() => null)]);
      wake = Promise.withResolvers();
      yield* due();
      if (first === null) continue;
      if (first.done) return;
      const fact = first.value;
      yield fact;
      if (fact.type === 'model.asked') asked.add(`${fact.runId} ${fact.data.turn}`);
      yield* due();
      next = facts.next();
    }
  } finally {
    source.listeners.delete(onEvent);
    options.signal?.removeEventListener('abort', end);
    stop.abort();
  }
}
