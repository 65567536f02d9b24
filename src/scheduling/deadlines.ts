// Many deadlines on one timer of the clock. All timeouts of the kernel use this; it knows nothing about runs.
//
// D1. One timer of the clock is set for any number of deadlines, and none if there are none.
// D2. Nothing fires early. Due deadlines fire in order of due time; those due at the same time fire in the order they were set.
// D3. A callback that throws does not affect the others.
// D4. A cancelled deadline never fires, not even if another callback cancels it at the moment it is due. Nothing of it remains.
// D5. `wait` never rejects and leaves neither timer nor listener behind.
import { maxMs } from '../contract/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { StopSignal } from '../ports/stop.ts';

export interface Deadlines {
  /** Calls `fire` once when the monotonic clock has reached `due`, never synchronously. Returns a function that cancels. */
  at(due: number, fire: () => void): () => void;
  /** Resolves after `ms`, or as soon as the signal fires. */
  wait(ms: number, signal: StopSignal): Promise<void>;
  readonly size: number;
}

interface Entry {
  due: number;
  order: number;
  /** Its index in the heap; -1 once it was removed. */
  index: number;
  fire: () => void;
}

/** `onError` gets what a callback threw. */
export function createDeadlines(clock: Clock, onError: (error: unknown) => void = () => {}): Deadlines {
  const heap: Entry[] = [];
  let order = 0;
  let timer: { due: number; cancel: () => void } | null = null;

  function at(due: number, fire: () => void): () => void {
    if (Number.isNaN(due)) throw new RangeError('the due time of a deadline must be a number');
    const entry: Entry = { due, order: order++, index: heap.length, fire };
    heap.push(entry);
    siftUp(heap, entry);
    arm();
    return () => {
      if (entry.index === -1) return;
      removeEntry(heap, entry);
      arm();
    };
  }

  /** Sets the timer. One that is too early stays: it finds nothing due and is set again. */
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
    // Bounded, so that a callback that keeps setting deadlines for now cannot block the process.
    for (let left = heap.length; left > 0 && heap[0] !== undefined && heap[0].due <= now; left--) {
      const entry = heap[0];
      removeEntry(heap, entry);
      try {
        entry.fire();
      } catch (error) {
        onError(error);
      }
    }
    arm();
  }

  function wait(ms: number, signal: StopSignal): Promise<void> {
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

function isBefore(a: Entry, b: Entry): boolean {
  return a.due < b.due || (a.due === b.due && a.order < b.order);
}

function put(heap: Entry[], entry: Entry, index: number): void {
  heap[index] = entry;
  entry.index = index;
}

function siftUp(heap: Entry[], entry: Entry): void {
  let index = entry.index;
  while (index > 0) {
    const parent = heap[(index - 1) >> 1]!;
    if (!isBefore(entry, parent)) break;
    put(heap, parent, index);
    index = (index - 1) >> 1;
  }
  put(heap, entry, index);
}

function siftDown(heap: Entry[], entry: Entry): void {
  let index = entry.index;
  for (let child = 2 * index + 1; child < heap.length; child = 2 * index + 1) {
    const right = heap[child + 1];
    if (right !== undefined && isBefore(right, heap[child]!)) child++;
    if (!isBefore(heap[child]!, entry)) break;
    put(heap, heap[child]!, index);
    index = child;
  }
  put(heap, entry, index);
}

function removeEntry(heap: Entry[], entry: Entry): void {
  const last = heap.pop()!;
  if (last !== entry) {
    put(heap, last, entry.index);
    siftUp(heap, last);
    siftDown(heap, last);
  }
  entry.index = -1;
}
