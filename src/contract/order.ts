import { z } from 'zod';
import { Instant, RunId } from './ids.ts';

/** A durable request to a run. It is consumed in the transaction that writes the fact it causes. */
export const Order = z.strictObject({
  id: z.string(),
  runId: RunId,
  rootId: RunId,
  kind: z.enum(['cancel', 'message', 'pause', 'resume', 'approve', 'refuse']),
  /** The reason of a cancel, the text of a message, the id of an approval. */
  text: z.string(),
  at: Instant,
});
export type Order = z.infer<typeof Order>;
