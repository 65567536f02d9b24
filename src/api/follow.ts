// Waiting for things to change, whichever process changes them. Nothing is polled here: the store and the live events wake the reader.
import type { Delta } from '../contract/delta.ts';
import type { Fact, StoredFact } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import type { Store } from '../ports/store.ts';
import { createDescendantFilter } from '../records/descendants.ts';

export interface ChangeSource {
  store: Store;
  listeners: Set<(event: Fact | Delta) => void>;
}

/** Yields once at the beginning, and then whenever something may have changed; ends when the signal fires. */
export async function* changes({ store, listeners, signal }: ChangeSource & { signal: AbortSignal }): AsyncGenerator<void> {
  let gate = Promise.withResolvers<void>();
  const open = () => gate.resolve();
  const onEvent = (event: Fact | Delta) => {
    if (event.type !== 'delta') open();
  };
  listeners.add(onEvent);
  const endWatch = store.watch(open);
  signal.addEventListener('abort', open, { once: true });
  try {
    while (!signal.aborted) {
      yield;
      await gate.promise;
      gate = Promise.withResolvers();
    }
  } finally {
    listeners.delete(onEvent);
    endWatch();
    signal.removeEventListener('abort', open);
  }
}

const page = 500;

/** Facts as they come, after the one at the position `after`, until the run's own `run.ended`. */
export async function* followFacts(
  row: Pick<RunRow, 'runId' | 'rootId'>,
  options: { tree?: boolean; after?: string; signal: AbortSignal },
  source: ChangeSource,
): AsyncGenerator<StoredFact> {
  const scope = options.tree ? { rootId: row.rootId } : { runId: row.runId };
  const belongs = createDescendantFilter(row.runId);
  let after: string | undefined;
  let seen = options.after === undefined;
  for await (const _ of changes({ ...source, signal: options.signal })) {
    for (;;) {
      const facts = await source.store.facts({ ...scope, limit: page, ...(after === undefined ? {} : { after }) });
      for (const fact of facts) {
        after = fact.position;
        if (!belongs(fact)) continue;
        if (seen) yield fact;
        seen ||= fact.position === options.after;
        if (fact.type === 'run.ended' && fact.runId === row.runId) return;
      }
      // An erased run says nothing any more, not even that it has ended.
      if (facts.length === 0 && (await source.store.run(row.runId))?.erasedAt !== undefined) return;
      if (facts.length < page) break;
    }
  }
}
