// A clock whose timers wait for the test, for states that must last until the test has seen them.
import type { Clock } from '../../src/ports/clock.ts';
import { systemClock } from '../../src/system/clock.ts';

export interface GateClock extends Clock {
  /** Fires all timers, and from now on each at once. */
  open(): void;
}

export function createGateClock(): GateClock {
  const held = new Set<() => void>();
  let isOpen = false;
  return {
    ...systemClock,
    at(_, fire) {
      if (isOpen) return systemClock.at(systemClock.monotonic(), fire);
      const timer = () => fire();
      held.add(timer);
      return () => void held.delete(timer);
    },
    open() {
      isOpen = true;
      for (const timer of [...held]) if (held.delete(timer)) timer();
    },
  };
}
