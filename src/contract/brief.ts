import { z } from 'zod';
import { ParameterValues } from './agent-parameter.ts';
import { BudgetName } from './budget.ts';
import { Check } from './check.ts';
import { Effort } from './effort.ts';
import { Ruleset } from './grant.ts';
import { RunId } from './ids.ts';
import type { JsonObject } from './json.ts';
import { LimitsGiven } from './limits.ts';
import { Repository } from './repository.ts';
import { maxTaskBytes } from './task-size.ts';

const text = z.string().transform((value) => value.toWellFormed());

/** The form of the wanted result. `schema` is a JSON Schema for `outcome.data`. */
export const ResultForm = z.strictObject({
  mode: z.enum(['summary', 'full']).optional(),
  prompt: text.optional(),
  schema: z
    .custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'a JSON Schema object')
    .optional(),
  maxBytes: z.int().min(64).max(16_777_216).optional(),
});
export type ResultForm = z.infer<typeof ResultForm>;

const ToolFilter = z.strictObject({ allow: z.array(z.string()).optional(), deny: z.array(z.string()).optional() });

/** A request for one run, from a user, a program or a parent run. Unknown keys are an error. */
export const Brief = z.strictObject({
  task: text
    .transform((value) => value.trim())
    .refine((value) => value !== '', 'must not be empty')
    .refine(
      (value) => Buffer.byteLength(value) <= maxTaskBytes,
      `must be at most ${maxTaskBytes} bytes; give long material as a file or as context`,
    ),
  label: text.pipe(z.string().max(200)).optional(),
  context: text.pipe(z.string().max(1_048_576)).optional(),
  files: z.array(z.string().min(1).max(4096)).max(100).optional(),
  agent: z.string().min(1).max(200).optional(),
  /** Values for the parameters of the agent. */
  params: ParameterValues.optional(),
  model: z.string().min(1).max(500).optional(),
  /** How much the model thinks; else the agent's, the parent run's or the configured one. */
  effort: Effort.optional(),
  tools: ToolFilter.optional(),
  rules: z.array(z.string()).max(1000).optional(),
  /** Rulesets that narrow the run, each evaluated separately. A follow-up carries the rulesets of the run that it continues. */
  rulesets: z
    .array(Ruleset.extend({ kind: z.literal('narrowing') }))
    .max(1000)
    .optional(),
  limits: LimitsGiven.optional(),
  /** Shared budgets that the run and everything below it draw from, besides those of its ancestors. */
  budgets: z.array(BudgetName).max(20).optional(),
  result: ResultForm.optional(),
  /** The repository whose files the run works on, in a checkout of its own. For roots only. */
  repository: Repository.optional(),
  /** The folder whose files the run works on, if a worker drives it. For roots only. */
  workspace: z
    .string()
    .max(4096)
    .regex(/^\/[^\0]*$/, 'must be an absolute path')
    .optional(),
  /** `worktree`: the run gets its own copy of the files as they are when it starts. */
  isolation: z.literal('worktree').optional(),
  /** The run gets a copy of the files of this folder, without the repository around it. For roots, and for children of flows and clients. */
  fixture: z
    .string()
    .max(4096)
    .regex(/^\/[^\0]*$/, 'must be an absolute path')
    .optional(),
  /** Commands with the rights of the author of the brief, and reviewers, that decide whether the run is done. */
  checks: z.array(Check).max(20).optional(),
  /** How often the checks are run at most; 3 if absent. After each failed round but the last, the model gets the failures. */
  maxCheckRounds: z.int().min(1).max(20).optional(),
  inheritMemories: z.boolean().optional(),
  background: z.boolean().optional(),
  continues: RunId.optional(),
  /** The turn of the continued run to branch off after; its last turn if absent. */
  continuesAt: z.int().min(1).max(1_000_000).optional(),
  tags: z.array(z.string().max(200)).max(50).optional(),
  idempotencyKey: z.string().min(1).max(200).optional(),
});
export type Brief = z.infer<typeof Brief>;
