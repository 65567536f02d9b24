// Isolates trees that may crash their process: at most one is driven at a time. All trees of a process die with it, but only one of them can have
// caused it. A tree that was taken over without any progress may be the cause when it has to be taken over again; it is isolated until it makes progress,
// or for a minute. So a tree that kills its process is taken over until it is ended, and no other one is ended with it.
import type { Clock } from '../../ports/clock.ts';
import type { Run } from '../run.ts';
import type { RunState } from '../state/state.ts';
import { countTakeovers } from './recovery.ts';

export interface CrashIsolation {
  /** False if another tree is isolated here; then this one must not be claimed. True at once for a tree that was not taken over without progress. */
  tryBegin(rootId: string, states: RunState[]): boolean;
}

export interface CrashIsolationDeps {
  /** All live runs of this process. */
  runs: ReadonlyMap<string, Run>;
  isResuming(rootId: string): boolean;
  clock: Pick<Clock, 'monotonic'>;
}

/** A call of a model may take long, and others wait. */
const maxIsolationMs = 60_000;

export function createCrashIsolation({ runs, isResuming, clock }: CrashIsolationDeps): CrashIsolation {
  let current: { rootId: string; since: number } | null = null;

  /** Its next takeover is recorded when it continues, so an isolated tree that is driven has at least two. */
  function isIsolated(rootId: string): boolean {
    if (isResuming(rootId)) return true;
    const states = [...runs.values()].filter((run) => run.rootId === rootId).map(({ state }) => state);
    return countTakeovers(states) >= 2;
  }

  return {
    tryBegin(rootId, states) {
      if (countTakeovers(states) === 0) return true;
      const now = clock.monotonic();
      if (current !== null && current.rootId !== rootId && now - current.since < maxIsolationMs && isIsolated(current.rootId)) return false;
      current = { rootId, since: now };
      return true;
    },
  };
}
