/**
 * Every wait of the kernel ends here: many deadlines on one timer of the clock. It does not say what is to happen when
 * time is up, and it knows nothing of runs.
 *
 *  1. However many deadlines there are, one timer of the clock is set; none when there are none.
 *  2. Nothing fires before its time. What is due fires in order of due time; due together, in order of setting.
 *  3. A callback that throws stops no other.
 *  4. A cancelled deadline never fires, not even when another callback of the same moment cancels it; nothing of it is kept.
 *  5. `wait` never rejects and leaves neither timer nor listener behind.
 */
import { maxMs } from '../contract/limits.ts';
import type { Clock } from '../ports/clock.ts';

export interface Deadlines {
  /** Calls `fire` once when the monotonic clock has reached `due`, never inside this call. The returned function cancels. */
  at(due: number, fire: () => void): () => void;
  /** Ends after `ms`, or as soon as the signal fires. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  readonly size: number;
}

interface Entry {
  due: number;
  order: number;
  /** Its place in the heap; -1 once it is out. */
  index: number;
  fire: () => void;
}

/** `onError` hears of callbacks that threw: a fault of the caller's, never of the others that wait. */
export function createDeadlines(clock: Clock, onError: (error: unknown) => void = () => {}): Deadlines {
  const heap: Entry[] = [];
  let order = 0;
  let timer: { due: number; cancel: () => void } | null = null;

  function at(due: number, fire: () => void): () => void {
    if (Number.isNaN(due)) throw new RangeError('a deadline needs a time');
    const entry: Entry = { due, order: order++, index: heap.length, fire };
    heap.push(entry);
    rise(heap, entry);
    arm();
    return () => {
      if (entry.index === -1) return;
      takeOut(heap, entry);
      arm();
    };
  }

  /** A timer that is earlier than need be stays: it then finds nothing due and is set anew. */
  function arm(): void {
    const first = heap[0];
    if (timer !== null && first !== undefined && timer.due <= first.due) return;
    timer?.cancel();
    timer = null;
    if (first === undefined) return;
    const due = Math.min(first.due, clock.monotonic() + maxMs);
    timer = { due, cancel: clock.at(due, fireDue) };
  }

  function fireDue(): void {
    timer = null;
    const now = clock.monotonic();
    // Bounded, so that a callback that sets itself again for now cannot hold the process.
    for (let left = heap.length; left > 0 && heap[0] !== undefined && heap[0].due <= now; left--) {
      const entry = heap[0];
      takeOut(heap, entry);
      try {
        entry.fire();
      } catch (error) {
        onError(error);
      }
    }
    arm();
  }

  function wait(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = at(clock.monotonic() + ms, done);
    signal.addEventListener('abort', done, { once: true });
    function done(): void {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    }
    return promise;
  }

  return {
    at,
    wait,
    get size() {
      return heap.length;
    },
  };
}

function before(a: Entry, b: Entry): boolean {
  return a.due < b.due || (a.due === b.due && a.order < b.order);
}

function put(heap: Entry[], entry: Entry, index: number): void {
  heap[index] = entry;
  entry.index = index;
}

function rise(heap: Entry[], entry: Entry): void {
  let index = entry.index;
  while (index > 0) {
    const above = heap[(index - 1) >> 1]!;
    if (!before(entry, above)) break;
    put(heap, above, index);
    index = (index - 1) >> 1;
  }
  put(heap, entry, index);
}

function sink(heap: Entry[], entry: Entry): void {
  let index = entry.index;
  for (let child = 2 * index + 1; child < heap.length; child = 2 * index + 1) {
    const right = heap[child + 1];
    if (right !== undefined && before(right, heap[child]!)) child++;
    if (!before(heap[child]!, entry)) break;
    put(heap, heap[child]!, index);
    index = child;
  }
  put(heap, entry, index);
}

function takeOut(heap: Entry[], entry: Entry): void {
  const last = heap.pop()!;
  if (last !== entry) {
    put(heap, last, entry.index);
    rise(heap, last);
    sink(heap, last);
  }
  entry.index = -1;
}
