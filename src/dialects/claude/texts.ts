// How agents appear in results. The shape is that of Claude Code, the words are ours.
import type { ErrorInfo } from '../../contract/error.ts';
import type { Outcome } from '../../contract/outcome.ts';
import type { ChildView } from '../../ports/delegation.ts';
import type { DialectContext, DialectResult, ResultPart } from '../../ports/dialect.ts';
import { toOneLine } from '../shared/one-line.ts';
import { formatTruncated, isPatch, sumTokens } from '../shared/result.ts';

export const tooDeep = 'Agents at this depth cannot start agents. Do the work yourself.';

/** Partial work of a failed agent is kept. */
export function formatReport(outcome: Outcome): ResultPart[] {
  const notice = formatTruncated(outcome);
  return [
    ...(outcome.success ? [] : [{ text: `The agent ${describeEnd(outcome)}` }]),
    ...(outcome.summary === '' ? [] : [{ text: outcome.summary, run: outcome.runId }]),
    ...(notice === '' ? [] : [{ text: notice }]),
    ...(outcome.artifacts.some(isPatch)
      ? [{ text: `Its changes are in its own copy of the files. Take them over with delegate_apply ${applyInput(outcome)}` }]
      : []),
  ];
}

function describeEnd({ status, error }: Outcome): string {
  const reason = error === null ? '' : `: ${toOneLine(error.message)}`;
  return status === 'cancelled' ? `was stopped${reason}` : `failed${reason}`;
}

function applyInput({ runId }: Outcome): string {
  return JSON.stringify({ ids: [runId] });
}

/** Id and usage follow the report of an agent, as in the source. */
export function formatTrailer({ runId, tokens, durationMs }: Outcome): string {
  return `${formatAgentId(runId)}\n<usage>subagent_tokens: ${sumTokens(tokens)}\nduration_ms: ${durationMs}</usage>`;
}

function formatAgentId(runId: string): string {
  return `agentId: ${runId} (to continue this agent, use SendMessage with to: '${runId}')`;
}

export function formatLaunched({ row }: ChildView, door: DialectContext['door'], isBackground: boolean): string {
  const next =
    door === 'model'
      ? 'You get its report when it ends. Until then you know nothing about its result: continue with other work, or end your turn.'
      : 'Read its report with TaskOutput.';
  const state = isBackground ? 'The agent was launched and works in the background.' : 'The agent is still working.';
  return `${state} ${next}\n${formatAgentId(row.runId)}\nDo not do its work yourself meanwhile.`;
}

export type TaskStatus = 'pending' | 'running' | 'completed' | 'failed' | 'killed';

export function viewToStatus({ row, outcome }: Pick<ChildView, 'row' | 'outcome'>): TaskStatus {
  if (outcome === null) return row.status === 'queued' ? 'pending' : 'running';
  if (outcome.status === 'completed') return 'completed';
  return outcome.status === 'cancelled' ? 'killed' : 'failed';
}

export function formatNotFound({ code, message }: ErrorInfo, asked: string): string {
  return code === 'unknown_run' ? `No agent has the id or name ${JSON.stringify(toOneLine(asked, 100))}` : toOneLine(message);
}

export function createError(text: string): DialectResult {
  return { parts: [{ text }], isError: true };
}
