// How subagents appear in results. The texts are fixed by the source.
import type { ErrorInfo } from '../../contract/error.ts';
import type { Decision } from '../../contract/grant.ts';
import type { Outcome } from '../../contract/outcome.ts';
import type { ChildView } from '../../ports/delegation.ts';
import type { DialectResult, ResultPart } from '../../ports/dialect.ts';
import { toOneLine } from '../shared/one-line.ts';
import { formatTruncated } from '../shared/result.ts';
import { agentToType } from './types.ts';

export type SubSessionStatus = 'Pending' | 'Running' | 'Completed' | 'Failed' | 'Cancelled';

export function viewToStatus({ row, outcome }: Pick<ChildView, 'row' | 'outcome'>): SubSessionStatus {
  return outcome === null ? (row.status === 'queued' ? 'Pending' : 'Running') : outcomeToStatus(outcome);
}

export function outcomeToStatus({ status }: Pick<Outcome, 'status'>): SubSessionStatus {
  if (status === 'completed') return 'Completed';
  return status === 'cancelled' ? 'Cancelled' : 'Failed';
}

export function formatLaunched({ row }: ChildView): string {
  return `Subagent launched in background.\n${formatIdentity(row)}\n\nUse 'task_status' to check progress or wait for completion event.`;
}

export function formatStillRunning({ row }: ChildView): string {
  return `Subagent is still running.\n${formatIdentity(row)}\n\nUse 'task_status' to check progress or wait for completion event.`;
}

export function formatIdentity(row: ChildView['row']): string {
  return [`- ID: ${row.runId}`, `- Type: ${toOneLine(agentToType(row.agent))}`, `- Description: ${toOneLine(row.label ?? '')}`].join('\n');
}

/** Parts are joined by a line break, so the heading omits its last one. */
export function formatOutcome(outcome: Outcome): ResultPart[] {
  const notice = formatTruncated(outcome);
  const childParts: ResultPart[] = outcome.summary === '' ? [] : [{ text: outcome.summary, run: outcome.runId }];
  if (notice !== '') childParts.push({ text: notice });
  if (outcome.success) return [{ text: `## Subagent Result (${toOneLine(agentToType(outcome.agent))})\n` }, ...childParts];
  const failure = `Subagent failed: ${formatFailure(outcome)}`;
  return [{ text: childParts.length === 0 ? failure : `${failure}\n` }, ...childParts];
}

export function formatFailure({ status, error }: Pick<Outcome, 'status' | 'error'>): string {
  const message = error === null ? 'Unknown error' : toOneLine(error.message);
  return status === 'cancelled' ? `cancelled (${message})` : message;
}

/** What a subagent reads if it calls one of the tools. */
export const notPrimary = 'This agent cannot spawn subagents. Only primary agents can use the task tool.';

export function createRefusal({ code, message }: ErrorInfo): DialectResult {
  const text =
    code === 'depth'
      ? notPrimary
      : code === 'unknown_run'
        ? `Subagent not found: ${toOneLine(message)}`
        : `Subagent failed: ${toOneLine(message)}`;
  return { parts: [{ text }], isError: true };
}

/** In a subagent `ask` is a denial, because it cannot ask the user. */
export function formatDenial(tool: string, { action, rule, owner }: Decision): string {
  const basis = rule === null ? 'no rule of the owner allows it' : `rule \`${rule}\` of ${owner}`;
  return action === 'ask'
    ? `Permission required: ${tool} (${basis}). Subagents cannot request user permission.`
    : `Permission denied: ${tool} (${basis})`;
}
