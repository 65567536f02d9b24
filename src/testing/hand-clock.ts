/**
 * A clock that only the test moves. No real timer is used.
 *
 * K1. Timers fire in the order of their due times; timers with the same due time in the order in which they were set.
 * K2. Between two timers all pending promise callbacks run.
 * K3. A timer that is already due when it is set fires without `advance`, but never inside `at`.
 * K4. A jump of the wall clock moves no timer.
 */
import { setImmediate } from 'node:timers';
import type { Clock } from '../ports/clock.ts';

export interface HandClock extends Clock {
  /** Moves both clocks forward and fires the timers that become due. Rejects if a timer throws. */
  advance(ms: number): Promise<void>;
  /** Moves only the wall clock. `ms` may be negative. */
  jump(ms: number): void;
  /** The number of timers that are set. */
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

  function setTimer(due: number, fire: () => void): () => void {
    if (Number.isNaN(due)) throw new RangeError('the due time of a timer is not a number');
    const timer = { due, fire };
    const next = timers.findIndex((other) => other.due > due);
    timers.splice(next === -1 ? timers.length : next, 0, timer);
    if (due <= monotonic) defer(() => remove(timer) && fire());
    return () => void remove(timer);
  }

  function remove(timer: Timer): boolean {
    const index = timers.indexOf(timer);
    if (index !== -1) timers.splice(index, 1);
    return index !== -1;
  }

  function defer(run: () => void): void {
    if (deferred.push(run) === 1) queueMicrotask(runDeferred);
  }

  function runDeferred(): void {
    const batch = deferred;
    deferred = [];
    for (const run of batch) run();
  }

  async function advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new RangeError('cannot move the clock by a negative time or NaN');
    const target = monotonic + ms;
    await runMicrotasks();
    for (let next = timers[0]; next !== undefined && next.due <= target; next = timers[0]) {
      monotonic = Math.max(monotonic, next.due);
      timers.shift();
      next.fire();
      await runMicrotasks();
    }
    monotonic = Math.max(monotonic, target);
  }

  return {
    now: () => wallOffset + monotonic,
    monotonic: () => monotonic,
    at: setTimer,
    defer,
    advance,
    jump: (ms) => {
      wallOffset += ms;
    },
    pending: () => timers.length,
  };
}

/** After one turn of the event loop all microtasks have run, including those that they queued. */
function runMicrotasks(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
