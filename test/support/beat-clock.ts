// A clock for tests whose parts all run in this process. It stands still while the process does not run, so that a busy machine does not look like a peer that is
// slow to answer.
import type { Clock } from '../../src/ports/clock.ts';
import { systemClock } from '../../src/system/clock.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';

const beatMs = 10;

/** `factor`: how much faster than real time it is. */
export function startBeatClock(factor = 1): { clock: Clock; stop(): void } {
  const hand = createHandClock();
  const beat = setInterval(() => void hand.advance(factor * beatMs), beatMs);
  return { clock: { ...hand, now: systemClock.now }, stop: () => clearInterval(beat) };
}
