import { z } from 'zod';
import { Instant, RunId } from './ids.ts';
import { OutcomeStatus, Tokens } from './outcome.ts';
import { liveStatuses } from './run-status.ts';

/** What the calls of one model used. */
export const ModelSpending = z.strictObject({ model: z.string(), tokens: Tokens, costUsd: z.number().nullable() });
export type ModelSpending = z.infer<typeof ModelSpending>;

/** The row of a run: computed from its facts and stored in the same transaction. `ps` and `show` print it. */
export const RunRow = z.strictObject({
  runId: RunId,
  parentId: RunId.nullable(),
  rootId: RunId,
  depth: z.int(),
  kind: z.enum(['agent', 'client', 'flow']),
  label: z.string().nullable(),
  agent: z.string().nullable(),
  model: z.string().nullable(),
  status: z.enum([...liveStatuses, ...OutcomeStatus.options]),
  /** The tool that is being executed, `model`, or null. */
  activity: z.string().nullable(),
  turns: z.int(),
  tokens: Tokens,
  costUsd: z.number().nullable(),
  /** Calls of other models than `model`; they are part of `tokens` and `costUsd`. Absent if there were none. */
  otherModels: z.array(ModelSpending).optional(),
  createdAt: Instant,
  startedAt: Instant.nullable(),
  endedAt: Instant.nullable(),
  idempotencyKey: z.string().nullable(),
  lastSeq: z.int(),
  lastHash: z.string(),
  /** When the data of its facts was erased; absent if it was not. */
  erasedAt: Instant.optional(),
});
export type RunRow = z.infer<typeof RunRow>;
