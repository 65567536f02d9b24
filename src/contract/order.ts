import { z } from 'zod';
import { Hash, Instant, RunId } from './ids.ts';

/** A stored request to a run that another process drives. It is consumed in the transaction that records the fact it causes. */
export const Order = z.strictObject({
  id: z.string(),
  runId: RunId,
  rootId: RunId,
  kind: z.enum(['cancel', 'message', 'pause', 'resume', 'approve', 'refuse', 'compact']),
  /** Who gave it, as facts record it. */
  by: z.string(),
  /** The reason of a cancel, pause or refusal; the text of a message. */
  text: z.string(),
  /** Rules that come with a message. */
  rules: z.array(z.string()).optional(),
  /** The call that is approved or refused; `hash` identifies what was shown. */
  call: z.strictObject({ turn: z.int(), index: z.int(), hash: Hash, always: z.boolean() }).optional(),
  at: Instant,
});
export type Order = z.infer<typeof Order>;
