import { z } from 'zod';
import { Artifact } from './artifact.ts';
import { ErrorInfo } from './error.ts';
import { Instant, RunId } from './ids.ts';
import type { Json } from './json.ts';

export const OutcomeStatus = z.enum(['completed', 'failed', 'timed_out', 'cancelled', 'exhausted']);
export type OutcomeStatus = z.infer<typeof OutcomeStatus>;

export const Terminated = z.enum(['max_turns', 'max_tokens', 'max_cost', 'deadline', 'cancelled', 'client_gone', 'loop']);
export type Terminated = z.infer<typeof Terminated>;

export const Tokens = z.strictObject({ input: z.int(), output: z.int(), cached: z.int(), reasoning: z.int() });
export type Tokens = z.infer<typeof Tokens>;

/** How much of a cut summary was kept. */
const Truncation = z.strictObject({ originalBytes: z.int(), keptBytes: z.int() });

const before = {
  runId: RunId,
  parentId: RunId.nullable(),
  rootId: RunId,
  depth: z.int().min(0),
  label: z.string().nullable(),
  agent: z.string().nullable(),
  status: OutcomeStatus,
  success: z.boolean(),
};

const after = {
  summary: z.string(),
  data: z.custom<Json>().optional(),
  artifacts: z.array(Artifact),
  error: ErrorInfo.nullable(),
  terminated: Terminated.nullable(),
  truncated: Truncation.nullable(),
  turns: z.int().min(0),
  tokens: Tokens,
  costUsd: z.number().nullable(),
  startedAt: Instant.nullable(),
  endedAt: Instant,
  durationMs: z.int().min(0),
  /** What the parent should know about how the run was set up; absent if there is nothing. */
  notices: z.array(z.string()).optional(),
};

/**
 * The result of a run: one shape for success, failure, cancellation and exhausted limits. All keys except `data` and `notices` are always present, in this
 * order. `tokens` and `costUsd` include descendants; `turns` does not.
 */
export const Outcome = z.strictObject({
  ...before,
  /** Whether the acceptance checks have passed; null for a run without checks, whose success is only its own claim. */
  verified: z.boolean().nullable().default(null),
  ...after,
});
export type Outcome = z.infer<typeof Outcome>;

/** An outcome as facts have it: `verified` is absent for a run without checks. `completeOutcome` turns it into what readers get. */
export const RecordedOutcome = z.strictObject({ ...before, verified: z.boolean().nullable().optional(), ...after });
export type RecordedOutcome = z.infer<typeof RecordedOutcome>;
