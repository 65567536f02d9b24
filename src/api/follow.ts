// Waits for changes of runs in any process. Nothing is polled here: the store and the live events of this process wake the reader.
import type { Delta } from '../contract/delta.ts';
import type { Fact, StoredFact } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import type { Store } from '../ports/store.ts';
import { createDescendantFilter } from '../records/descendants.ts';
import type { Listeners } from './listeners.ts';

export interface ChangeSource {
  store: Store;
  listeners: Listeners;
}

/**
 * Yields once at the beginning and then whenever another process may have changed something, or this one has recorded a fact that `isRelevant`
 * accepts. Ends when the signal fires.
 */
export async function* watchChanges(
  { store, listeners }: ChangeSource,
  signal: AbortSignal,
  isRelevant: (fact: Fact) => boolean = () => true,
): AsyncGenerator<void> {
  let change = Promise.withResolvers<void>();
  const wake = () => change.resolve();
  const onEvent = (event: Fact | Delta) => {
    if (event.type !== 'delta' && isRelevant(event)) wake();
  };
  const endListening = listeners.add(onEvent, { deltas: false });
  const endWatch = store.watch(wake);
  signal.addEventListener('abort', wake, { once: true });
  try {
    while (!signal.aborted) {
      yield;
      await change.promise;
      change = Promise.withResolvers();
    }
  } finally {
    endListening();
    endWatch();
    signal.removeEventListener('abort', wake);
  }
}

const pageSize = 500;

/** Facts of a run, and with `tree` of its descendants, as they are recorded. Begins after the position `after`; ends with the run's `run.ended`. */
export async function* followFacts(
  { runId, rootId }: Pick<RunRow, 'runId' | 'rootId'>,
  options: { tree?: boolean; after?: string; signal: AbortSignal },
  source: ChangeSource,
): AsyncGenerator<StoredFact> {
  const scope = options.tree ? { rootId } : { runId };
  // It needs the facts from the first on, so facts up to `options.after` are read and skipped.
  const isInSubtree = createDescendantFilter(runId);
  let after: string | undefined;
  let isPastCursor = options.after === undefined;
  const isRelevant = (fact: Fact) => options.tree === true || fact.runId === runId;
  for await (const _ of watchChanges(source, options.signal, isRelevant)) {
    for (;;) {
      const facts = await source.store.facts({ ...scope, limit: pageSize, ...(after === undefined ? {} : { after }) });
      for (const fact of facts) {
        after = fact.position;
        if (!isInSubtree(fact)) continue;
        if (isPastCursor) yield fact;
        isPastCursor ||= fact.position === options.after;
        if (fact.type === 'run.ended' && fact.runId === runId) return;
      }
      // The facts of an erased run are no longer readable, so its `run.ended` would never come.
      if (facts.length === 0 && (await source.store.run(runId))?.erasedAt !== undefined) return;
      if (facts.length < pageSize) break;
    }
  }
}
