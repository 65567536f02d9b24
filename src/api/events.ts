// The events of a run: facts from the store, and deltas as they stream in this process.
import type { Delta } from '../contract/delta.ts';
import type { Fact, StoredFact } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import { type ChangeSource, followFacts } from './follow.ts';

export interface EventOptions {
  /** Only events after the fact at this position. */
  after?: string;
  /** Also events of descendants. */
  tree?: boolean;
  signal?: AbortSignal;
}

/** If the reader is too slow, deltas are dropped; facts never are. */
const maxBuffered = 1000;

/** Ends with the run's `run.ended`, or when the signal fires. */
export async function* runEvents(
  row: Pick<RunRow, 'runId' | 'rootId'>,
  options: EventOptions,
  source: ChangeSource,
): AsyncGenerator<StoredFact | Delta> {
  const { tree = false, after } = options;
  const stop = new AbortController();
  const end = () => stop.abort();
  options.signal?.addEventListener('abort', end, { once: true });
  if (options.signal?.aborted) end();
  let buffered: Delta[] = [];
  let arrival = Promise.withResolvers<void>();
  const onEvent = (event: Fact | Delta) => {
    if (event.type !== 'delta' || buffered.length >= maxBuffered) return;
    if (event.runId !== row.runId && !tree) return;
    buffered.push(event);
    arrival.resolve();
  };
  // A delta must come after the `model.asked` of its turn. A reader that starts at a cursor may have seen that fact before.
  const asked = new Set<string>();
  const isDue = (delta: Delta) => after !== undefined || asked.has(`${delta.runId} ${delta.turn}`);
  const takeDue = () => {
    const due = buffered.filter(isDue);
    if (due.length > 0) buffered = buffered.filter((delta) => !isDue(delta));
    return due;
  };
  source.listeners.add(onEvent);
  const facts = followFacts(row, { tree, ...(after === undefined ? {} : { after }), signal: stop.signal }, source);
  try {
    for (let nextFact = facts.next(); ; ) {
      const next = await Promise.race([nextFact, arrival.promise.then(() => null)]);
      arrival = Promise.withResolvers();
      yield* takeDue();
      if (next === null) continue;
      if (next.done) return;
      const fact = next.value;
      yield fact;
      if (fact.type === 'model.asked') asked.add(`${fact.runId} ${fact.data.turn}`);
      yield* takeDue();
      nextFact = facts.next();
    }
  } finally {
    source.listeners.delete(onEvent);
    options.signal?.removeEventListener('abort', end);
    stop.abort();
  }
}
