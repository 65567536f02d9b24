// From the kernel's reply to a tool result.
import type { ErrorInfo } from '../../contract/error.ts';
import type { Json } from '../../contract/json.ts';
import type { Outcome, Tokens } from '../../contract/outcome.ts';
import type { ChildView } from '../../ports/delegation.ts';
import type { DelegationReply, DialectResult } from '../../ports/dialect.ts';

/** The output limit of dialects with JSON results. They cut the text of children themselves, because cut JSON is not JSON. */
export const maxJsonOutputBytes = 1_048_576;

/** `runs`: the runs whose text is in the result. */
export function createJsonResult(
  structured: object,
  { isError = false, runs = [] }: { isError?: boolean; runs?: string[] } = {},
): DialectResult {
  const part = { text: JSON.stringify(structured), ...(runs.length > 0 && { run: runs.join(',') }) };
  return { parts: [part], isError, structured: structured as Json };
}

/** The child of a reply about one child, or the error in its place. */
export function getOnlyChild(reply: DelegationReply): { view: ChildView } | { error: ErrorInfo } {
  const child = reply.kind === 'children' ? reply.children[0] : undefined;
  if (child === undefined) return { error: getReplyError(reply) };
  return child.ok ? { view: child.view } : { error: child.error };
}

/** The error of a refused request. A reply of the wrong kind cannot happen; it is an internal error. */
export function getReplyError(reply: DelegationReply): ErrorInfo {
  if (reply.kind === 'refused') return reply.error;
  return { code: 'internal', message: `unexpected reply of kind ${reply.kind}`, retryable: false };
}

/** Empty if the text was not cut. */
export function formatTruncation({ truncated }: Pick<Outcome, 'truncated'>): string {
  return truncated === null ? '' : `[truncated: kept ${truncated.keptBytes} of ${truncated.originalBytes} bytes]`;
}

/** A child's text, followed by a line that says how much of it was kept if it was cut. */
export function formatSummary(outcome: Pick<Outcome, 'summary' | 'truncated'>): string {
  const notice = formatTruncation(outcome);
  return notice === '' ? outcome.summary : `${outcome.summary}\n${notice}`;
}

export function sumTokens({ input, output }: Tokens): number {
  return input + output;
}
