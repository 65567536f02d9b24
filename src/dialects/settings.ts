// The settings of each dialect under the names that its source uses. They check the configuration file and the options of the library.
import { z } from 'zod';
import { RetinueError } from '../contract/error.ts';
import { maxMs } from '../contract/limits.ts';
import { parseDuration } from './dex/duration.ts';

const wholeNumber = (min: number, max: number) => z.int(`must be a whole number from ${min} to ${max}`).min(min).max(max);
const seconds = wholeNumber(1, Math.floor(maxMs / 1000));
const turns = wholeNumber(1, 500);
const concurrency = wholeNumber(1, 10_000);
const stringList = z.array(z.string('must be a string').min(1), 'must be a list of strings');
const flag = z.boolean('must be true or false');
const model = z.string('must be a name like "anthropic/…"').min(1).max(500);
const shortName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must consist of lower-case letters, digits, - and _');
const durationProblem = 'must be whole seconds or a text like "10m"';

const outputSize = wholeNumber(64, 16_777_216);

export const RalphConfig = z
  .strictObject({ max_subagents: concurrency, subagent_timeout: seconds, max_result_bytes: outputSize })
  .partial();

export const DexConfig = z
  .strictObject({
    enabled: flag,
    max_concurrent: concurrency,
    default_max_turns: turns,
    max_max_turns: turns,
    default_timeout: z.union([seconds, z.string().refine((text) => parseDuration(text) !== null, durationProblem)], durationProblem),
    allowed_hats: stringList,
    hats: z.record(
      shortName,
      z.strictObject({
        description: z.string().max(1000).optional(),
        prompt: z.string().min(1),
        tools: z.union([shortName, stringList], 'must be a list of tools, or the name of a hat whose tools it gets').optional(),
        max_turns: turns.optional(),
        rules: stringList.optional(),
        model: model.optional(),
      }),
    ),
  })
  .partial();

export const OpenforkConfig = z
  .strictObject({
    max_concurrent: concurrency,
    models: z.strictObject({ general: model, explore: model, planner: model, researcher: model }).partial(),
    types: z.record(
      shortName,
      z.strictObject({
        description: z.string().max(1000).optional(),
        prompt: z.string().min(1),
        tools: stringList.optional(),
        max_iterations: turns.optional(),
        permissions: stringList.optional(),
        model: model.optional(),
      }),
    ),
  })
  .partial();

export const RxConfig = z
  .strictObject({
    enabled: flag,
    max_depth: wholeNumber(0, 16),
    max_iterations: turns,
    timeout_seconds: seconds,
    artifact_kinds: z.array(z.enum(['note', 'path', 'diff', 'json'])),
  })
  .partial();

export const XzatomaConfig = z
  .strictObject({
    max_depth: wholeNumber(1, 16),
    default_max_turns: wholeNumber(1, 50),
    output_max_size: outputSize,
    conversation: z
      .strictObject({
        max_tokens: wholeNumber(1000, 1_000_000_000),
        min_retain_turns: wholeNumber(0, 500),
        prune_threshold: z.number('must be a number from 0.1 to 1').min(0.1).max(1),
      })
      .partial(),
  })
  .partial();

/** `models`: what the short names of Claude Code mean here. */
export const ClaudeConfig = z
  .strictObject({
    max_concurrent_subagents: concurrency,
    max_depth: wholeNumber(1, 16),
    models: z.strictObject({ sonnet: model, opus: model, haiku: model, fable: model }).partial(),
  })
  .partial();

export const CodexConfig = z.strictObject({ max_threads: concurrency, max_depth: wholeNumber(1, 16) }).partial();

/** Settings by dialect. The native dialect has none. */
export const DialectsConfig = z
  .strictObject({
    ralph: RalphConfig,
    dex: DexConfig,
    rx: RxConfig,
    xzatoma: XzatomaConfig,
    openfork: OpenforkConfig,
    claude: ClaudeConfig,
    codex: CodexConfig,
  })
  .partial();

/** The tools of all dialects except the native one. Rules may name them whichever dialect is used. */
export const nonNativeToolNames: readonly string[] = [
  'subagent',
  'subagent_status',
  'spawn_subagent',
  'task',
  'task_status',
  'task_cancel',
  'parallel_subagent',
  ...['Agent', 'Task', 'TaskOutput', 'TaskStop', 'SendMessage'],
  ...['spawn_agent', 'send_input', 'resume_agent', 'wait_agent', 'close_agent'],
];

/** Throws `invalid_config` with the key of the first problem. */
export function parseSettings<T>(dialect: string, schema: z.ZodType<T>, given: unknown): T {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0] as z.core.$ZodIssue;
  const keys = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0] as string] : issue.path;
  throw new RetinueError('invalid_config', `\`${['dialects', dialect, ...keys].join('.')}\`: ${issue.message}`);
}
