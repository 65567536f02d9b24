// The events of one run, and with `tree` of its descendants: a part of the stream of its tree that ends with the run.
import type { Delta } from '../contract/delta.ts';
import type { StoredFact } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import type { Store } from '../ports/store.ts';
import { subtreeRows } from '../records/descendants.ts';
import type { EventOptions } from './api.ts';
import type { OpenStream } from './stream.ts';

/** Ends with the run's `run.ended`, or when the signal fires. */
export async function* runEvents(
  { runId, rootId, endedAt, erasedAt }: RunRow,
  { after = '0', tree = false, signal }: EventOptions,
  { store, openStream }: { store: Store; openStream: OpenStream },
): AsyncGenerator<StoredFact | Delta> {
  if (erasedAt !== undefined) return;
  const ids = tree ? new Set(subtreeRows(await store.runs({ rootId }), runId).map((row) => row.runId)) : new Set([runId]);
  if (endedAt !== null) {
    const facts = await store.facts({ rootId, after });
    yield* facts.filter((fact) => ids.has(fact.runId) && !signal?.aborted);
    return;
  }
  const stop = new AbortController();
  const signals = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  try {
    for await (const event of openStream({ tree: runId, after, signal: signals })) {
      if (event.type === 'reset') continue;
      if (tree && event.type === 'run.created' && event.data.parentId !== null && ids.has(event.data.parentId)) ids.add(event.runId);
      if (!ids.has(event.runId)) continue;
      yield event;
      if (event.type === 'run.ended' && event.runId === runId) return;
    }
  } finally {
    stop.abort();
  }
}
