import type { ErrorInfo } from '../../contract/error.ts';
import type { Json } from '../../contract/json.ts';
import type { Outcome, Tokens } from '../../contract/outcome.ts';
import type { ChildView } from '../../ports/delegation.ts';
import type { DelegationReply, DialectResult } from '../../ports/dialect.ts';

/** Dialects whose results are JSON cut what children wrote themselves: JSON that is cut behind them is none. */
export const jsonOutputBytes = 1_048_576;

/** A result that is JSON. `runs`: those whose text is in it. */
export function jsonResult(structured: object, { isError = false, runs = [] }: { isError?: boolean; runs?: string[] } = {}): DialectResult {
  const part = { text: JSON.stringify(structured), ...(runs.length > 0 && { run: runs.join(',') }) };
  return { parts: [part], isError, structured: structured as Json };
}

/** The one child that a reply is about, or why there is none. */
export function onlyChild(reply: DelegationReply): { view: ChildView } | { error: ErrorInfo } {
  if (reply.kind === 'refused') return { error: reply.error };
  const child = reply.kind === 'children' ? reply.children[0] : undefined;
  if (child === undefined) return { error: { code: 'internal', message: 'this reply fits no such call', retryable: false } };
  return child.ok ? { view: child.view } : { error: child.error };
}

export function truncationNotice({ truncated }: Pick<Outcome, 'truncated'>): string {
  return truncated === null ? '' : `[truncated: kept ${truncated.keptBytes} of ${truncated.originalBytes} bytes]`;
}

/** A child's text, and on a line of its own how much of it was kept, where it was cut. */
export function textWithNotice(outcome: Pick<Outcome, 'summary' | 'truncated'>): string {
  const notice = truncationNotice(outcome);
  return notice === '' ? outcome.summary : `${outcome.summary}\n${notice}`;
}

export function totalTokens({ input, output }: Tokens): number {
  return input + output;
}
