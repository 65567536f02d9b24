/**
 * A clock that is driven by hand: time stands still until a test moves it. No real timer is used.
 *
 *  1. Timers fire in the order of their due times; those due together, in the order in which they were set.
 *  2. Between two firings every promise chain that is under way comes to rest.
 *  3. A timer that is due when it is set fires without `advance`, but never inside `at`.
 *  4. A jump of the wall clock moves no timer.
 */
import { setImmediate } from 'node:timers';
import type { Clock } from '../ports/clock.ts';

export interface HandClock extends Clock {
  /** Moves both clocks on and fires what comes due on the way. Rejects when a timer throws. */
  advance(ms: number): Promise<void>;
  /** Moves the wall clock alone; `ms` may be negative. */
  jump(ms: number): void;
  /** How many timers are set. */
  pending(): number;
}

interface Timer {
  due: number;
  fire: () => void;
}

export function createHandClock(options: { now?: number } = {}): HandClock {
  let monotonic = 0;
  let wallOffset = options.now ?? 1_750_000_000_000;
  const timers: Timer[] = [];
  let deferred: (() => void)[] = [];

  function set(due: number, fire: () => void): () => void {
    if (Number.isNaN(due)) throw new RangeError('a timer needs a time');
    const timer = { due, fire };
    const behind = timers.findIndex((other) => other.due > due);
    timers.splice(behind === -1 ? timers.length : behind, 0, timer);
    if (due <= monotonic) defer(() => remove(timer) && fire());
    return () => void remove(timer);
  }

  function remove(timer: Timer): boolean {
    const index = timers.indexOf(timer);
    if (index !== -1) timers.splice(index, 1);
    return index !== -1;
  }

  function defer(run: () => void): void {
    if (deferred.push(run) === 1) queueMicrotask(drain);
  }

  function drain(): void {
    const batch = deferred;
    deferred = [];
    for (const run of batch) run();
  }

  async function advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new RangeError('time only goes forward');
    const goal = monotonic + ms;
    await settle();
    for (let next = timers[0]; next !== undefined && next.due <= goal; next = timers[0]) {
      monotonic = Math.max(monotonic, next.due);
      timers.shift();
      next.fire();
      await settle();
    }
    monotonic = Math.max(monotonic, goal);
  }

  return {
    now: () => wallOffset + monotonic,
    monotonic: () => monotonic,
    at: set,
    defer,
    advance,
    jump: (ms) => {
      wallOffset += ms;
    },
    pending: () => timers.length,
  };
}

/** One turn of the event loop: by then the queue of microtasks, with all that they added to it, is empty. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
