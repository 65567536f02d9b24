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
const stateMember = '[a-z0-9][a-z0-9_*/@-]{0,255}=[\\x20-\\x2b\\x2d-\\x3c\\x3e-\\x7e]{0,255}[\\x21-\\x2b\\x2d-\\x3c\\x3e-\\x7e]';
const stateList = new RegExp(`^[ \\t]*(?:${stateMember}|)(?:[ \\t]*,[ \\t]*(?:${stateMember}|))*[ \\t]*$`);

/** Undefined for a malformed `traceparent`; a malformed `tracestate` is left out. */
export function parseTraceContext({ traceparent, tracestate }: TraceHeaders = {}): TraceContext | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > 512) return undefined;
  const [, version, traceId, parentId, flags, more] = anyVersion.exec(traceparent.trim()) ?? [];
  if (version === undefined || (version === '00' && more !== undefined)) return undefined;
  const state = typeof tracestate === 'string' && tracestate.length <= 512 && stateList.test(tracestate) ? tracestate.trim() : '';
  const parsed = TraceContext.safeParse({
    traceparent: `00-${traceId}-${parentId}-${flags}`,
    ...(state === '' ? {} : { tracestate: state }),
  });
  return parsed.data;
}
