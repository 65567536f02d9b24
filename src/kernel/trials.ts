// Whose fault the death of a process was. All its trees die with it, but only one of them can have caused it. A tree that was taken over without any
// progress is a suspect when it has to be taken over again, and a process drives one suspect at a time until that one makes progress, or for a minute.
// So a tree that kills its process is taken over until it is ended, and no other one is ended with it.
import type { Clock } from '../ports/clock.ts';
import { countTakeovers } from './recovery.ts';
import type { Run } from './run.ts';
import type { RunState } from './state.ts';

export interface Trials {
  /** False if another suspect is on trial here; then the tree must not be claimed. Trees that are no suspects need no trial. */
  begin(rootId: string, states: RunState[]): boolean;
}

export interface TrialsDeps {
  /** All live runs of this process. */
  runs: ReadonlyMap<string, Run>;
  isResuming(rootId: string): boolean;
  clock: Pick<Clock, 'monotonic'>;
}

/** A call of a model may take long, and others wait. */
const maxTrialMs = 60_000;

export function createTrials({ runs, isResuming, clock }: TrialsDeps): Trials {
  let current: { rootId: string; since: number } | null = null;

  /** Its next takeover is recorded when it continues, so a suspect that is driven has at least two. */
  function isOpen(rootId: string): boolean {
    if (isResuming(rootId)) return true;
    const states = [...runs.values()].filter((run) => run.rootId === rootId).map(({ state }) => state);
    return countTakeovers(states) >= 2;
  }

  return {
    begin(rootId, states) {
      if (countTakeovers(states) === 0) return true;
      const now = clock.monotonic();
      if (current !== null && current.rootId !== rootId && now - current.since < maxTrialMs && isOpen(current.rootId)) return false;
      current = { rootId, since: now };
      return true;
    },
  };
}
