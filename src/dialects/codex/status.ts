// The status of an agent as Codex writes it: a word, or an object with the final message or the error.
import { z } from 'zod';
import type { Outcome } from '../../contract/outcome.ts';
import type { ChildView } from '../../ports/delegation.ts';
import { toOneLine } from '../shared/one-line.ts';
import { formatSummary } from '../shared/result.ts';

export const AgentStatus = z.union([
  z.enum(['pending_init', 'running', 'interrupted', 'shutdown', 'not_found']),
  z.strictObject({ completed: z.string().nullable() }),
  z.strictObject({ errored: z.string() }),
]);
export type AgentStatus = z.infer<typeof AgentStatus>;

export function viewToStatus({ row, outcome }: Pick<ChildView, 'row' | 'outcome'>): AgentStatus {
  if (outcome === null) return row.status === 'queued' ? 'pending_init' : 'running';
  if (outcome.status === 'completed') return { completed: formatSummary(outcome) };
  return outcome.status === 'cancelled' ? 'shutdown' : { errored: formatFailure(outcome) };
}

/** Partial work is kept. */
function formatFailure(outcome: Outcome): string {
  const { error, status, summary } = outcome;
  const reason = error === null ? status : `${error.code}: ${toOneLine(error.message)}`;
  return summary === '' ? reason : `${reason}\n\nPartial result:\n${formatSummary(outcome)}`;
}
