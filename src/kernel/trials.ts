// Whose fault the death of a process was. All its trees die with it, but only one of them can have caused it. A tree that was taken over without any
// progress is a suspect when it has to be taken over again, and a process drives one suspect at a time until that one makes progress. So a tree that
// kills its process is taken over until it is ended, and no other one is ended with it.
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
}

export function createTrials({ runs, isResuming }: TrialsDeps): Trials {
  let current: string | null = null;

  /** Its next takeover is recorded when it continues, so a suspect that is driven has at least two. */
  function isOpen(rootId: string): boolean {
    if (isResuming(rootId)) return true;
    const states = [...runs.values()].filter((run) => run.rootId === rootId).map(({ state }) => state);
    return states.length > 0 && countTakeovers(states) >= 2;
  }

  return {
    begin(rootId, states) {
      if (states.length === 0 || countTakeovers(states) === 0) return true;
      if (current !== null && current !== rootId && isOpen(current)) return false;
      current = rootId;
      return true;
    },
  };
}
