// Spreads a burst of work over turns of the event loop. Promises continue in the order in which they were made. So, without pacing, a program that
// delegates to hundreds of children at once has all of them admitted before the first one sends a request. With it, the first children wait for their answers while
// the next ones are admitted, and the process reads its sockets in between.
//
// U1. At most `perTurn` calls pass in one turn of the event loop, in the order of the calls.
// U2. A call that may pass at once waits for nothing.
import type { Clock } from '../ports/clock.ts';

export interface Pace {
  /** Null if the caller may continue at once. */
  pass(): Promise<void> | null;
}

export function createPace(clock: Clock, perTurn: number): Pace {
  let waiting: (() => void)[] = [];
  /** The first of `waiting` that still waits. */
  let first = 0;
  let passed = 0;
  let isTurnOpen = false;

  function beginTurn(): void {
    isTurnOpen = true;
    clock.defer(endTurn);
  }

  function endTurn(): void {
    isTurnOpen = false;
    passed = 0;
    if (first === waiting.length) return;
    beginTurn();
    for (; passed < perTurn && first < waiting.length; passed++) waiting[first++]?.();
    if (first < waiting.length) return;
    waiting = [];
    first = 0;
  }

  return {
    pass() {
      if (!isTurnOpen) beginTurn();
      if (passed < perTurn && first === waiting.length) {
        passed++;
        return null;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      return promise;
    },
  };
}
