import { z } from 'zod';

/** How much a model thinks before it answers, from nothing to as much as it can. */
export const effortLevels = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type EffortLevel = (typeof effortLevels)[number];

const problem = `must be ${effortLevels.join(', ')}, or a number of thinking tokens`;

/** A level, or a number of thinking tokens for each model call. */
export const Effort = z.union([z.enum(effortLevels), z.int().min(1).max(1_000_000)], problem);
export type Effort = z.infer<typeof Effort>;

/** An effort as a person writes it; null if it is none. */
export function parseEffort(text: string): Effort | null {
  return Effort.safeParse(/^\d+$/.test(text) ? Number(text) : text).data ?? null;
}
