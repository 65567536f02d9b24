// How subagents read in results: the texts of the source.
import type { ErrorInfo } from '../../contract/error.ts';
import type { Decision } from '../../contract/grant.ts';
import type { Outcome } from '../../contract/outcome.ts';
import type { ChildView } from '../../ports/delegation.ts';
import type { DialectResult, ResultPart } from '../../ports/dialect.ts';
import { oneLine } from '../shared/one-line.ts';
import { truncationNotice } from '../shared/result.ts';
import { typeOf } from './types.ts';

export type SubSessionStatus = 'Pending' | 'Running' | 'Completed' | 'Failed' | 'Cancelled';

export function statusOf({ row, outcome }: Pick<ChildView, 'row' | 'outcome'>): SubSessionStatus {
  return outcome === null ? (row.status === 'queued' ? 'Pending' : 'Running') : endStatus(outcome);
}

export function endStatus({ status }: Pick<Outcome, 'status'>): SubSessionStatus {
  if (status === 'completed') return 'Completed';
  return status === 'cancelled' ? 'Cancelled' : 'Failed';
}

export function launched({ row }: ChildView): string {
  return `Subagent launched in background.\n${about(row)}\n\nUse 'task_status' to check progress or wait for completion event.`;
}

export function stillRunning({ row }: ChildView): string {
  return `Subagent is still running.\n${about(row)}\n\nUse 'task_status' to check progress or wait for completion event.`;
}

export function about(row: ChildView['row']): string {
  return [`- ID: ${row.runId}`, `- Type: ${oneLine(typeOf(row.agent))}`, `- Description: ${oneLine(row.label ?? '')}`].join('\n');
}

/** What a subagent came to. Parts are joined by a line break, so the heading leaves one out. */
export function endParts(outcome: Outcome): ResultPart[] {
  const notice = truncationNotice(outcome);
  const written: ResultPart[] = outcome.summary === '' ? [] : [{ text: outcome.summary, run: outcome.runId }];
  if (notice !== '') written.push({ text: notice });
  if (outcome.success) return [{ text: `## Subagent Result (${oneLine(typeOf(outcome.agent))})\n` }, ...written];
  const failure = `Subagent failed: ${failureOf(outcome)}`;
  return [{ text: written.length === 0 ? failure : `${failure}\n` }, ...written];
}

export function failureOf({ status, error }: Pick<Outcome, 'status' | 'error'>): string {
  const message = error === null ? 'Unknown error' : oneLine(error.message);
  return status === 'cancelled' ? `cancelled (${message})` : message;
}

export function refusal({ code, message }: ErrorInfo): DialectResult {
  const text =
    code === 'depth'
      ? 'This agent cannot spawn subagents. Only primary agents can use the task tool.'
      : code === 'unknown_run'
        ? `Subagent not found: ${oneLine(message)}`
        : `Subagent failed: ${oneLine(message)}`;
  return { parts: [{ text }], isError: true };
}

/** `ask` is a denial: nobody can be asked in a subagent. */
export function denial(tool: string, { action, rule, owner }: Decision): string {
  const by = rule === null ? 'no rule of the owner allows it' : `rule \`${rule}\` of ${owner}`;
  return action === 'ask'
    ? `Permission required: ${tool} (${by}). Subagents cannot request user permission.`
    : `Permission denied: ${tool} (${by})`;
}
