import { z } from 'zod';

const startAt = z.number('must be a number').min(0.1, 'must be at least 0.1').max(0.95, 'must be at most 0.95');

/** How conversations near the end of a model's window are made shorter. */
export const CompactionSettings = z
  .strictObject({
    /** False: only by order. Old tool results are still removed. */
    enabled: z.boolean('must be true or false'),
    /** The share of the window at which room is made. */
    startAt,
    /** The model that writes the summaries; the run's own by default. */
    model: z.string('must be a name like "anthropic/…"').min(1).max(500),
    /** For single models, by id. `contextWindow`: in tokens, for a model whose window is unknown or should not be used in full. */
    models: z.record(z.string(), z.strictObject({ startAt, contextWindow: z.int('must be a whole number').min(1000) }).partial()),
  })
  .partial();
export type CompactionSettings = z.infer<typeof CompactionSettings>;
