import { z } from 'zod';
import { Hash, Instant, RunId } from './ids.ts';

/** A durable request to a run. It is consumed in the transaction that writes the fact it causes. */
export const Order = z.strictObject({
  id: z.string(),
  runId: RunId,
  rootId: RunId,
  kind: z.enum(['cancel', 'message', 'pause', 'resume', 'approve', 'refuse']),
  /** The reason of a cancel, a pause or a refusal, the text of a message. */
  text: z.string(),
  /** Rules that come with a message. */
  rules: z.array(z.string()).optional(),
  /** What is approved or refused: one call, by what it was shown to be. */
  call: z.strictObject({ turn: z.int(), index: z.int(), hash: Hash, always: z.boolean() }).optional(),
  at: Instant,
});
export type Order = z.infer<typeof Order>;
