// The part of a run's state that its acceptance checks have. Pure.
import type { Artifact } from '../../contract/artifact.ts';
import { type Check, type CheckStatus, checkName } from '../../contract/check.ts';
import { createCheckArtifact } from '../../contract/check-artifact.ts';
import type { FactData } from '../../contract/fact.ts';
import type { Outcome } from '../../contract/outcome.ts';
import { cutMiddle } from '../../text/cut.ts';

export interface CheckState {
  round: number;
  /** Model calls that had been answered when the round began: without a further one, nothing can have changed. */
  turns: number;
  /** By the index of the check in the brief. Null: begun and not finished. */
  results: Map<number, { status: CheckStatus; output: string } | null>;
  /** The failures of this round were sent to the model. */
  isReported: boolean;
}

/** A reviewer of the run. It is no part of the conversation. */
export interface ReviewState {
  id: string;
  check: NonNullable<FactData['child.created']['check']>;
  /** Null while it works. */
  outcome: Outcome | null;
}

/** The reviewer that was started for a check. */
export function findReview(reviews: ReadonlyMap<string, ReviewState>, round: number, index: number): ReviewState | null {
  return reviews.values().find(({ check }) => check.round === round && check.index === index) ?? null;
}

/** Whether the run waits for a reviewer. */
export function isInReview(reviews: ReadonlyMap<string, ReviewState>): boolean {
  return reviews.size > 0 && reviews.values().some(({ outcome }) => outcome === null);
}

/** Whether a check is running. */
export function isChecking(checks: CheckState | null): boolean {
  return checks?.results.values().some((result) => result === null) ?? false;
}

/** Who the message about failed checks is from. */
export const checkSender = 'the acceptance checks';

export function startCheck(checks: CheckState | null, { round, index }: FactData['check.started'], turns: number): CheckState {
  const current = checks?.round === round ? checks : { round, turns, results: new Map(), isReported: false };
  current.results.set(index, null);
  return current;
}

/** Longer outputs are in the facts. */
const maxOutputBytes = 2_000;

/** The results of the last round, in the order of the brief. */
export function createCheckArtifacts(state: CheckState | null, checks: Check[] = []): Artifact[] {
  return checks.flatMap((check, index) => {
    const result = state?.results.get(index);
    if (!state || !result) return [];
    const output = cutMiddle(result.output, maxOutputBytes).text;
    return [createCheckArtifact({ name: checkName(check), status: result.status, round: state.round, output })];
  });
}

/** Whether the run is verified: every check of the last round has passed. Undefined for a run without checks. */
export function isVerified(checks: CheckState | null, count: number): boolean | undefined {
  if (count === 0) return undefined;
  const results = [...(checks?.results.values() ?? [])];
  return results.length === count && results.every((result) => result?.status === 'passed');
}
