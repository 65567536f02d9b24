// Budgets that many trees share, such as the budget of a team for a day.
import { z } from 'zod';
import type { Instant } from './ids.ts';

/** `costUsd` is 0 if the price is unknown. */
export interface Amount {
  tokens: number;
  costUsd: number;
}

export const BudgetName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be 1 to 64 letters, digits, dots, underscores or hyphens, such as "team"');

export const budgetPeriods = ['day', 'month', 'total'] as const;
export const budgetActions = ['pause', 'refuse'] as const;

/** A limit for all trees that draw from the budget, in each day or month of its time zone, or in total. Null: no limit. */
export const BudgetDefinition = z.strictObject({
  name: BudgetName,
  tokens: z.int().min(1).max(1_000_000_000_000).nullable(),
  costUsd: z.number().positive().max(1_000_000).nullable(),
  per: z.enum(budgetPeriods),
  timezone: z.string().refine(isTimeZone, 'must be a time zone such as "UTC" or "Europe/Berlin"'),
  /** `pause`: trees wait for the next period. `refuse`: new trees are refused, and running ones end. */
  whenExceeded: z.enum(budgetActions),
});
export type BudgetDefinition = z.infer<typeof BudgetDefinition>;

/** A budget and its use in the current period. */
export interface BudgetState extends BudgetDefinition {
  spent: Amount;
  /** For calls in flight and those that follow at once. */
  reserved: Amount;
  /** When the next period begins; null for a total budget. */
  resetsAt: Instant | null;
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
