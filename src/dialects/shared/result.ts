// From the kernel's reply to a tool result.
import type { Artifact } from '../../contract/artifact.ts';
import type { ErrorInfo } from '../../contract/error.ts';
import type { Json } from '../../contract/json.ts';
import type { Outcome, Tokens } from '../../contract/outcome.ts';
import type { ChildView } from '../../ports/delegation.ts';
import type { DelegationReply, DialectContext, DialectResult } from '../../ports/dialect.ts';
import { formatTruncation } from '../../text/cut.ts';
import { fitJson } from '../../text/fit-json.ts';

/** The output limit of dialects with JSON results. A lower one of the configuration cuts their texts. */
export const maxJsonOutputBytes = 1_048_576;

/** The same, for a dialect whose setting allows texts of this many bytes. */
export function jsonOutputBytes(maxTextBytes: number): number {
  return Math.max(maxJsonOutputBytes, Math.min(2 * maxTextBytes, 16_777_216));
}

interface JsonResultOptions {
  isError?: boolean;
  /** The runs whose text is in the result. */
  runs?: string[];
  context?: DialectContext | undefined;
}

/** A result beyond the caller's limit is cut inside its strings, so that it stays JSON. */
export function createJsonResult(value: object, { isError = false, runs = [], context }: JsonResultOptions = {}): DialectResult {
  const structured = fitJson(value, context?.maxOutputBytes ?? Number.POSITIVE_INFINITY) as Json;
  const part = { text: JSON.stringify(structured), ...(runs.length > 0 && { run: runs.join(','), fitted: true as const }) };
  return { parts: [part], isError, structured };
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

/** The error of an unknown id says by which parameter it was given. */
export function nameIdParameter(error: ErrorInfo, parameter: string): ErrorInfo {
  return error.code === 'unknown_run' ? { ...error, message: `${parameter}: ${error.message}` } : error;
}

/** Whether an artifact is the list of changes that a run made in its own copy of the files. */
export function isPatch({ kind, title }: Artifact): boolean {
  return kind === 'diff' && title === 'patch';
}

/** Empty if the text was not cut. */
export function formatTruncated({ truncated }: Pick<Outcome, 'truncated'>): string {
  return truncated === null ? '' : formatTruncation(truncated);
}

/** A child's text, followed by a line that says how much of it was kept if it was cut. */
export function formatSummary(outcome: Pick<Outcome, 'summary' | 'truncated'>): string {
  const notice = formatTruncated(outcome);
  return notice === '' ? outcome.summary : `${outcome.summary}\n${notice}`;
}

export function sumTokens({ input, output }: Tokens): number {
  return input + output;
}
