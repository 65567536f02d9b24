// How texts say whether a success was checked.
import type { RecordedOutcome } from '../contract/outcome.ts';

/** Null for a run without checks. */
export function verifiedWord({ verified }: Pick<RecordedOutcome, 'verified'>): 'verified' | 'not verified' | null {
  if (typeof verified !== 'boolean') return null;
  return verified ? 'verified' : 'not verified';
}

/** The same, with `claimed` for an agent that says it has succeeded and was not checked. Null where nothing is claimed. */
export function trustWord(
  outcome: Pick<RecordedOutcome, 'verified' | 'success' | 'agent'>,
): 'verified' | 'not verified' | 'claimed' | null {
  return verifiedWord(outcome) ?? (outcome.success && outcome.agent !== null ? 'claimed' : null);
}
