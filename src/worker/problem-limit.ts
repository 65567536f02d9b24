// How long a tree is put back because this worker cannot provide its files. Then it is driven all the same, and ends with the reason.
import type { Instant } from '../contract/ids.ts';
import type { Clock } from '../ports/clock.ts';
import { isoToMs } from '../text/instant.ts';

/** A tree that waited for its start may be old at the first attempt, so the attempts of this worker count too. */
const minAttempts = 10;
const maxAgeMs = 3_600_000;
/** Trees that are remembered. */
const maxTrees = 1_000;

export interface ProblemLimit {
  /** Counts an attempt that failed. True if it was the last one. `since`: when the tree was created. */
  isReached(rootId: string, since: Instant): boolean;
  /** Whether the last attempt was only just now. */
  isRecent(rootId: string): boolean;
  /** The tree has no such problem any more. */
  forget(rootId: string): void;
}

export function createProblemLimit(clock: Pick<Clock, 'now' | 'monotonic'>, delayMs: number): ProblemLimit {
  const attempts = new Map<string, { count: number; last: number }>();
  return {
    isReached(rootId, since) {
      const count = (attempts.get(rootId)?.count ?? 0) + 1;
      // The newest one is last, and the oldest one is dropped: other workers may have ended those trees long ago.
      attempts.delete(rootId);
      attempts.set(rootId, { count, last: clock.monotonic() });
      for (const oldest of attempts.keys()) if (attempts.size > maxTrees) attempts.delete(oldest);
      return count >= minAttempts && clock.now() - isoToMs(since) >= maxAgeMs;
    },
    isRecent(rootId) {
      const last = attempts.get(rootId)?.last;
      return last !== undefined && clock.monotonic() - last < delayMs;
    },
    forget: (rootId) => void attempts.delete(rootId),
  };
}
