// The format of a script file. docs/scripted-models.md explains each key; unknown keys are errors.
import { z } from 'zod';
import { Effort } from '../../contract/effort.ts';
import { RetinueError } from '../../contract/error.ts';
import type { Json } from '../../contract/json.ts';
import { maxMs } from '../../contract/limits.ts';

const tokens = z.int().min(0);
const usd = z.number().min(0);

/** Names the keys that exist instead of the unknown one: the file may be any file, and the error may reach a model. */
function withKeys<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const message = `has an unknown key; the keys here are ${Object.keys(shape).join(', ')}`;
  return z.strictObject(shape, { error: ({ code }) => (code === 'unrecognized_keys' ? message : undefined) });
}

const Call = withKeys({
  tool: z.string().min(1),
  args: z.custom<Json>().optional(),
  raw: z.string().optional(),
  id: z.string().optional(),
}).refine((call) => call.args === undefined || call.raw === undefined, 'must have `args` or `raw`, not both');

const ScriptStep = withKeys({
  expect: withKeys({
    prompt: z.string().optional(),
    tools: z.array(z.string()).optional(),
    /** Null: the call asks for none. */
    effort: Effort.nullable().optional(),
  }).optional(),
  text: z.string().optional(),
  reasoning: z.string().optional(),
  calls: z.array(Call).optional(),
  finish: z.enum(['stop', 'length', 'content-filter', 'tool-calls', 'error', 'interrupted', 'other']).optional(),
  usage: withKeys({ input: tokens, output: tokens, cached: tokens.optional(), reasoning: tokens.optional() }).nullable().optional(),
  delayMs: z.int().min(0).max(maxMs).optional(),
  chunkSize: z.int().min(1).optional(),
  error: withKeys({
    status: z.int().min(100).max(599).optional(),
    message: z.string(),
    retryAfterMs: z.int().min(0).max(maxMs).optional(),
  }).optional(),
  hang: z.enum(['start', 'middle']).optional(),
  repeat: z.int().min(1).max(100_000).optional(),
});
export type ScriptStep = z.infer<typeof ScriptStep>;

const ScriptEntry = withKeys({
  when: withKeys({ agent: z.string().optional(), label: z.string().optional(), task: z.string().optional() }).optional(),
  times: z.union([z.int().min(1), z.literal('any')]).default(1),
  steps: z.array(ScriptStep),
  compact: z.array(ScriptStep).min(1).optional(),
});
export type ScriptEntry = z.infer<typeof ScriptEntry>;

const Script = withKeys({
  model: withKeys({
    contextWindow: z.int().min(1).optional(),
    maxOutputTokens: z.int().min(1).optional(),
    price: withKeys({ input: usd, output: usd, cached: usd.optional() }).optional(),
  }).optional(),
  runs: z.array(ScriptEntry).min(1),
});
export type Script = z.infer<typeof Script>;

/** Throws RetinueError `invalid_config` with every problem and its position. It quotes nothing of the file, which may be any file. */
export function parseScript(file: string, text: string): Script {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    const position = /\(line \d+ column \d+\)/.exec(String(error))?.[0];
    throw new RetinueError('invalid_config', `${file} is not valid JSON${position === undefined ? '' : ` ${position}`}`);
  }
  const parsed = Script.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${z.core.toDotPath(issue.path) || 'script'}: ${issue.message}`);
  throw new RetinueError('invalid_config', `${file}: ${problems.join('; ')}`);
}
