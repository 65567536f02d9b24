import { isLive } from '../../../../src/contract/run-status.ts';
import type { LiveState } from '../../../../src/views/live-state.ts';

export interface TreeSummary {
  live: number;
  /** Failed, timed out or exhausted. */
  failed: number;
  /** Calls that failed or were denied. */
  problems: number;
  /** Calls that wait for approval. */
  questions: number;
  turns: number;
}

export function summarizeTree(state: LiveState): TreeSummary {
  const sum: TreeSummary = { live: 0, failed: 0, problems: 0, questions: 0, turns: 0 };
  for (const run of state.runs.values()) {
    if (isLive(run.status)) sum.live++;
    else if (run.status !== 'completed' && run.status !== 'cancelled') sum.failed++;
    sum.problems += run.problems.failed + run.problems.denied;
    sum.questions += run.questions;
    sum.turns += run.turn;
  }
  return sum;
}
