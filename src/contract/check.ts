// Acceptance checks: what decides whether a run is done, beside its own claim.
import { z } from 'zod';
import { LimitsGiven } from './limits.ts';

/** A shell command in the files of the run; exit code 0 passes. */
export const CommandCheck = z.strictObject({
  command: z.string().trim().min(1).max(10_000),
  timeoutMs: z.int().min(1).max(3_600_000).optional(),
  /** False: it is not run again if it was cut off. */
  idempotent: z.boolean().optional(),
});
export type CommandCheck = z.infer<typeof CommandCheck>;

/** An agent that reads the work and gives a verdict. `task`: what to look for. */
export const ReviewCheck = z.strictObject({
  agent: z.string().min(1).max(200),
  task: z
    .string()
    .transform((value) => value.toWellFormed().trim())
    .pipe(z.string().min(1).max(20_000)),
  /** Of the reviewer; otherwise that of its definition, or of the run. */
  model: z.string().min(1).max(500).optional(),
  limits: LimitsGiven.optional(),
});
export type ReviewCheck = z.infer<typeof ReviewCheck>;

export const Check = z.union([CommandCheck, ReviewCheck], {
  error: 'a check is `{ command, timeoutMs?, idempotent? }` or `{ agent, task, model?, limits? }`',
});
export type Check = z.infer<typeof Check>;

/** The name of a check in lists and messages. */
export function checkName(check: Check): string {
  return 'command' in check ? check.command : `review by ${check.agent}: ${check.task}`;
}

/** `refused`: the rules, or the admission of the reviewer, do not allow it. `unknown`: it was cut off, or a reviewer gave no verdict. */
export const CheckStatus = z.enum(['passed', 'failed', 'refused', 'unknown']);
export type CheckStatus = z.infer<typeof CheckStatus>;
