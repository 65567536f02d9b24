// Events of all processes for many readers. One reader of the store, the tail, serves them all from a buffer of recent facts; a reader that is
// behind reads the store itself until it has caught up.
//
// 1. Each reader gets every fact after its cursor exactly once, in the order of the store.
// 2. A slow reader holds up nothing, and nothing grows without a bound: a reader that falls out of the buffer reads the store again.
// 3. A delta comes between the request and the answer that it belongs to, as far as the reader gets these facts.
import type { Delta } from '../contract/delta.ts';
import type { StoredFact } from '../contract/fact.ts';
import { assertNotErased } from '../kernel/recovery/history.ts';
import { findRun } from '../records/find-run.ts';
import { isAfter } from '../text/position.ts';
import type { StreamEvent, StreamOptions } from './api.ts';
import type { ChangeSource } from './follow.ts';
import { createTail, type Tail } from './tail.ts';

/** A reader of all trees that is further behind starts anew. */
const maxBehind = 50_000;
const pageSize = 500;
const maxBufferedDeltas = 1_000;
const maxRuns = 5_000;

export type OpenStream = (options: StreamOptions) => AsyncGenerator<StreamEvent>;

export function createStreams(source: ChangeSource): OpenStream {
  const tail = createTail(source);
  return (options) => readStream(options, tail, source);
}

async function* readStream({ tree, after, signal }: StreamOptions, tail: Tail, { store }: ChangeSource): AsyncGenerator<StreamEvent> {
  const row = tree === undefined ? null : await findRun(tree, store);
  if (row !== null) assertNotErased(row);
  const rootId = row?.rootId;
  let wakeUp = Promise.withResolvers<void>();
  const wake = () => wakeUp.resolve();
  let deltas: Delta[] = [];
  const leave = await tail.join({
    run: row,
    wake,
    takeDelta(delta, root) {
      if ((rootId !== undefined && root !== rootId) || deltas.length >= maxBufferedDeltas) return;
      deltas.push(delta);
      wake();
    },
  });
  signal.addEventListener('abort', wake, { once: true });
  try {
    const { newest, behind } = await store.cursor(after);
    let cursor = after ?? (rootId === undefined ? newest : '0');
    if (after !== undefined && (behind === null || (rootId === undefined && behind > maxBehind))) {
      cursor = newest;
      yield { type: 'reset', position: newest };
    }
    const turns = createTurnTracker();
    /** The next fact in the tail's buffer; null while the reader is behind it. */
    let next: number | null = null;

    /** Removes what may come now, of one run or of all, and what comes too late. */
    function takeDue(runId?: string): Delta[] {
      if (deltas.length === 0) return [];
      const due = deltas.filter((delta) => (runId === undefined || delta.runId === runId) && turns.isOpen(delta));
      deltas = deltas.filter((delta) => !due.includes(delta) && !turns.isOver(delta));
      return due;
    }

    while (!signal.aborted) {
      const facts: StoredFact[] | null = next === null ? null : tail.read(next, rootId);
      if (facts === null) {
        const end = tail.end();
        const page: StoredFact[] = await store.facts({ after: cursor, limit: pageSize, ...(rootId === undefined ? {} : { rootId }) });
        for (const fact of page) {
          cursor = fact.position;
          turns.add(fact);
          yield fact;
        }
        if (page.length < pageSize) next = end;
        continue;
      }
      next = tail.end();
      for (const fact of facts) {
        // The buffer may be behind what this reader has read from the store.
        if (!isAfter(fact.position, cursor)) continue;
        cursor = fact.position;
        yield* takeDue(fact.runId);
        turns.add(fact);
        yield fact;
      }
      yield* takeDue();
      if (tail.end() > next || signal.aborted) continue;
      await wakeUp.promise;
      wakeUp = Promise.withResolvers();
    }
  } finally {
    signal.removeEventListener('abort', wake);
    leave();
  }
}

/** Tells which deltas belong to an answer that is being streamed. */
function createTurnTracker() {
  const runs = new Map<string, { asked: number; answered: number }>();
  return {
    add(fact: StoredFact): void {
      const { asked, answered } = runs.get(fact.runId) ?? { asked: 0, answered: 0 };
      // A run whose first fact the reader did not get may be in any turn.
      const begins = fact.type === 'run.created' || runs.has(fact.runId);
      runs.delete(fact.runId);
      if (fact.type === 'run.ended') runs.set(fact.runId, { asked, answered: Number.POSITIVE_INFINITY });
      else if (fact.type === 'model.asked')
        runs.set(fact.runId, { asked: fact.data.turn, answered: Math.min(answered, fact.data.turn - 1) });
      else if (fact.type === 'model.answered') runs.set(fact.runId, { asked, answered: fact.data.turn });
      else if (begins) runs.set(fact.runId, { asked, answered });
      if (runs.size > maxRuns) runs.delete(runs.keys().next().value as string);
    },
    /** Also true for a run of which the reader has seen no request yet. */
    isOpen({ runId, turn }: Delta): boolean {
      const run = runs.get(runId);
      return run === undefined || (turn <= run.asked && turn > run.answered);
    },
    isOver: ({ runId, turn }: Delta) => turn <= (runs.get(runId)?.answered ?? 0),
  };
}
