// The trace that a brief belongs to, as W3C Trace Context (https://www.w3.org/TR/trace-context/) writes it.
import { z } from 'zod';

/** What a caller passes on, unchecked. */
export interface TraceHeaders {
  traceparent?: unknown;
  tracestate?: unknown;
}

/** A checked `traceparent` of version 00, and the `tracestate` that came with it. */
export const TraceContext = z.strictObject({
  traceparent: z.string().regex(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/),
  tracestate: z.string().max(512).optional(),
});
export type TraceContext = z.infer<typeof TraceContext>;

/** Later versions of the format begin with the same four fields and may have more. */
const anyVersion = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const stateMember = /^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
/** Bounds of the specification. A longer list is left out whole: its order has a meaning, so it cannot be cut. */
const [maxStateChars, maxStateMembers] = [512, 32];

/** Undefined for a malformed `traceparent`; a malformed `tracestate` is left out. */
export function parseTraceContext({ traceparent, tracestate }: TraceHeaders = {}): TraceContext | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > 512) return undefined;
  const [, version, traceId, parentId, flags, more] = anyVersion.exec(traceparent.trim()) ?? [];
  if (version === undefined || (version === '00' && more !== undefined)) return undefined;
  const state = parseState(tracestate);
  const parsed = TraceContext.safeParse({
    traceparent: `00-${traceId}-${parentId}-${flags}`,
    ...(state === '' ? {} : { tracestate: state }),
  });
  return parsed.data;
}

/** The members of the list without spaces around them; empty for a malformed list. Linear: each member is tested once. */
function parseState(tracestate: unknown): string {
  if (typeof tracestate !== 'string' || tracestate.length > maxStateChars) return '';
  const members = tracestate
    .split(',')
    .map(trimBlanks)
    .filter((member) => member !== '');
  return members.length <= maxStateMembers && members.every((member) => stateMember.test(member)) ? members.join(',') : '';
}

/** Spaces and tabs only: a line break is not allowed anywhere. */
function trimBlanks(text: string): string {
  const isBlank = (char: string | undefined) => char === ' ' || char === '\t';
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text[start])) start++;
  while (end > start && isBlank(text[end - 1])) end--;
  return text.slice(start, end);
}
