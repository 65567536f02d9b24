// Events of all processes for many readers. One reader of the store, the tail, serves them all from a buffer of recent facts; a reader that is
// behind reads the store itself until it has caught up.
//
// 1. Each reader gets every fact after its cursor exactly once, in the order of the store.
// 2. A slow reader holds up nothing, and nothing grows without a bound: a reader that falls out of the buffer reads the store again.
// 3. No delta comes after the answer that it is a part of.
import type { Delta } from '../contract/delta.ts';
import type { StoredFact } from '../contract/fact.ts';
import { assertNotErased } from '../kernel/history.ts';
import { findRun } from '../records/find-run.ts';
import type { StreamEvent, StreamOptions } from './api.ts';
import type { ChangeSource } from './follow.ts';
import { createTail, type Tail } from './tail.ts';

/** A reader of all trees that is further behind starts anew. */
const maxBehind = 50_000;
const pageSize = 500;
const maxBufferedDeltas = 1_000;
const maxAnswers = 5_000;

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
    const answers = createAnswerFilter();
    /** The next fact in the tail's buffer; null while the reader is behind it. */
    let next: number | null = null;
    /** Facts that were read from the store and may also be in the buffer. */
    let known = new Set<string>();

    while (!signal.aborted) {
      const due = deltas.filter(answers.isOpen);
      deltas = [];
      yield* due;
      const facts: StoredFact[] | null = next === null ? null : tail.read(next, rootId);
      if (facts === null) {
        const end = tail.end();
        const page: StoredFact[] = await store.facts({ after: cursor, limit: pageSize, ...(rootId === undefined ? {} : { rootId }) });
        for (const fact of page) {
          cursor = fact.position;
          answers.add(fact);
          yield fact;
        }
        if (page.length < pageSize) {
          next = end;
          known = new Set(page.map(({ position }) => position));
        }
        continue;
      }
      next = tail.end();
      for (const fact of facts) {
        cursor = fact.position;
        if (known.has(fact.position)) continue;
        answers.add(fact);
        yield fact;
      }
      if (deltas.length > 0 || tail.end() > next || signal.aborted) continue;
      await wakeUp.promise;
      wakeUp = Promise.withResolvers();
    }
  } finally {
    signal.removeEventListener('abort', wake);
    leave();
  }
}

/** Tells which deltas still belong to an open answer. */
function createAnswerFilter() {
  const turns = new Map<string, number>();
  return {
    add(fact: StoredFact): void {
      const turn = fact.type === 'run.ended' ? Number.POSITIVE_INFINITY : fact.type === 'model.answered' ? fact.data.turn : null;
      if (turn === null) return;
      turns.delete(fact.runId);
      turns.set(fact.runId, turn);
      if (turns.size > maxAnswers) turns.delete(turns.keys().next().value as string);
    },
    isOpen: (delta: Delta) => delta.turn > (turns.get(delta.runId) ?? 0),
  };
}
