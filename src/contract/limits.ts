import { z } from 'zod';

/** The longest timeout of Node; longer timers would fire at once. */
export const maxMs = 2_147_483_647;

const ms = z.int().min(1).max(maxMs);
const count = z.int().min(1).max(1_000_000_000);

/** The limits of a run. Given limits may omit any key (`LimitsGiven`); effective limits have all of them. */
export const Limits = z.strictObject({
  maxTurns: z.int().min(1).max(500),
  timeoutMs: ms,
  maxTokens: count,
  maxCostUsd: z.number().positive().max(1_000_000),
  maxDepth: z.int().min(0).max(16),
  maxConcurrent: z.int().min(1).max(10_000),
  maxRuns: z.int().min(1).max(1_000_000),
  maxOutputBytes: z.int().min(64).max(16_777_216),
  /** Tool calls of one answer. */
  maxToolCalls: z.int().min(1).max(1_000),
  firstByteMs: ms,
  idleMs: ms,
  toolTimeoutMs: ms,
});
export type Limits = z.infer<typeof Limits>;
export type LimitName = keyof Limits;

export const LimitsGiven = Limits.partial();
export type LimitsGiven = z.infer<typeof LimitsGiven>;

export const defaultLimits: Limits = {
  maxTurns: 40,
  timeoutMs: 1_800_000,
  maxTokens: 2_000_000,
  maxCostUsd: 5,
  maxDepth: 1,
  maxConcurrent: 8,
  maxRuns: 64,
  maxOutputBytes: 16_384,
  maxToolCalls: 64,
  firstByteMs: 30_000,
  idleMs: 120_000,
  toolTimeoutMs: 120_000,
};

export const LimitSource = z.enum(['default', 'dialect', 'config', 'command', 'agent', 'brief', 'parent', 'none']);
export type LimitSource = z.infer<typeof LimitSource>;

/** A limit of a run and its source. `null` (from `none`) means unlimited. */
export const EffectiveLimit = z.strictObject({ value: z.number().nullable(), from: LimitSource });
export type EffectiveLimit = z.infer<typeof EffectiveLimit>;

/** Limits that facts of the first version do not have. Those runs had the default. */
const addedLimits = { maxToolCalls: { value: defaultLimits.maxToolCalls, from: 'default' } } as const;

/** The limits of a grant. Facts may lack those that were added later (`completeLimits`). */
export const EffectiveLimits = z.partialRecord(
  z.enum(Object.keys(Limits.shape) as [LimitName, ...LimitName[]]),
  EffectiveLimit,
) as z.ZodType<EffectiveLimits>;
export type EffectiveLimits = Record<LimitName, EffectiveLimit>;

export function completeLimits(limits: EffectiveLimits): EffectiveLimits {
  return limits.maxToolCalls === undefined ? { ...addedLimits, ...limits } : limits;
}
