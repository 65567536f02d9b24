// What can be configured for each dialect, with the names of its source. The configuration file is checked with it, and what a program gives.
import { z } from 'zod';
import { RetinueError } from '../contract/error.ts';
import { maxMs } from '../contract/limits.ts';
import { durationMs } from './dex/duration.ts';

const whole = (min: number, max: number) => z.int(`must be a whole number from ${min} to ${max}`).min(min).max(max);
const seconds = whole(1, Math.floor(maxMs / 1000));
const turns = whole(1, 500);
const atOnce = whole(1, 10_000);
const words = z.array(z.string('must be a string').min(1), 'must be a list of strings');
const flag = z.boolean('must be true or false');
const model = z.string('must be a name like "anthropic/…"').min(1).max(500);
const timeText = 'must be whole seconds or a text like "10m"';

export const RalphConfig = z.strictObject({ max_subagents: atOnce, subagent_timeout: seconds }).partial();

export const DexConfig = z
  .strictObject({
    enabled: flag,
    max_concurrent: atOnce,
    default_max_turns: turns,
    max_max_turns: turns,
    default_timeout: z.union([seconds, z.string().refine((text) => durationMs(text) !== null, timeText)], timeText),
    allowed_hats: words,
  })
  .partial();

export const OpenforkConfig = z
  .strictObject({
    max_concurrent: atOnce,
    models: z.strictObject({ general: model, explore: model, planner: model, researcher: model }).partial(),
  })
  .partial();

export const RxConfig = z
  .strictObject({
    enabled: flag,
    max_depth: whole(0, 16),
    max_iterations: turns,
    timeout_seconds: seconds,
    artifact_kinds: z.array(z.enum(['note', 'path', 'diff', 'json'])),
  })
  .partial();

export const XzatomaConfig = z
  .strictObject({
    max_depth: whole(1, 16),
    default_max_turns: whole(1, 50),
    output_max_size: whole(64, 16_777_216),
    conversation: z
      .strictObject({
        max_tokens: whole(1000, 1_000_000_000),
        min_retain_turns: whole(0, 500),
        prune_threshold: z.number('must be a number from 0.1 to 1').min(0.1).max(1),
      })
      .partial(),
  })
  .partial();

/** By dialect; the native one has nothing to set. */
export const DialectsConfig = z
  .strictObject({ ralph: RalphConfig, dex: DexConfig, rx: RxConfig, xzatoma: XzatomaConfig, openfork: OpenforkConfig })
  .partial();

/** Names of the tools of all dialects but the native one: rules may speak of them whichever is in force. */
export const foreignTools: readonly string[] = [
  ...['subagent', 'subagent_status', 'spawn_subagent', 'task', 'task_status', 'task_cancel', 'parallel_subagent'],
];

/** Throws `invalid_config` that names the key. */
export function readSettings<T>(dialect: string, schema: z.ZodType<T>, given: unknown): T {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0] as z.core.$ZodIssue;
  const keys = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0] as string] : issue.path;
  throw new RetinueError('invalid_config', `\`${['dialects', dialect, ...keys].join('.')}\`: ${issue.message}`);
}
