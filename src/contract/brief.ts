import { z } from 'zod';
import { Ruleset } from './grant.ts';
import { RunId } from './ids.ts';
import type { JsonObject } from './json.ts';
import { LimitsGiven } from './limits.ts';

const maxTaskBytes = 65_536;
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

export const ToolFilter = z.strictObject({ allow: z.array(z.string()).optional(), deny: z.array(z.string()).optional() });
export type ToolFilter = z.infer<typeof ToolFilter>;

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
  model: z.string().min(1).max(500).optional(),
  tools: ToolFilter.optional(),
  rules: z.array(z.string()).max(1000).optional(),
  /** Rulesets that narrow the run, each evaluated separately. A follow-up carries the rulesets of the run that it continues. */
  rulesets: z
    .array(Ruleset.extend({ kind: z.literal('narrowing') }))
    .max(1000)
    .optional(),
  limits: LimitsGiven.optional(),
  result: ResultForm.optional(),
  inheritMemories: z.boolean().optional(),
  background: z.boolean().optional(),
  continues: RunId.optional(),
  /** The turn of the continued run to branch off after; its last turn if absent. */
  continuesAt: z.int().min(1).max(1_000_000).optional(),
  tags: z.array(z.string().max(200)).max(50).optional(),
  idempotencyKey: z.string().min(1).max(200).optional(),
});
export type Brief = z.infer<typeof Brief>;
