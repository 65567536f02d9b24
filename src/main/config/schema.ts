import { z } from 'zod';
import { durationMs } from '../../cli/values.ts';
import { Limits, maxMs } from '../../contract/limits.ts';
import { McpServer, McpServerName } from '../../contract/mcp-server.ts';

const whole = (min: number, max: number) => z.int(`must be a whole number from ${min} to ${max}`).min(min).max(max);
const amount = z.number('must be a number of US dollars for a million tokens').min(0).max(1_000_000);
const seconds = whole(1, Math.floor(maxMs / 1000));
const turns = whole(1, 500);
const atOnce = whole(1, 10_000);
const words = z.array(z.string('must be a string').min(1), 'must be a list of strings');
const flag = z.boolean('must be true or false');
const timeText = 'must be whole seconds or a text like "10m"';

const Provider = z.strictObject({
  kind: z.enum(['anthropic', 'openai', 'google', 'ollama', 'openai-compatible']),
  baseURL: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
  // A pasted key must not pass for a name, and must not be repeated in a message.
  apiKeyEnv: z
    .string()
    .regex(/^[A-Z_][A-Z0-9_]{0,99}$/, 'must be the name of a variable, such as OPENAI_API_KEY; never the key itself')
    .optional(),
});

const Dialects = z
  .strictObject({
    ralph: z.strictObject({ max_subagents: atOnce, subagent_timeout: seconds }).partial(),
    dex: z
      .strictObject({
        enabled: flag,
        max_concurrent: atOnce,
        default_max_turns: turns,
        max_max_turns: turns,
        default_timeout: z.union([seconds, z.string().refine((text) => durationMs(text) !== null, timeText)], timeText),
        allowed_hats: words,
      })
      .partial(),
    rx: z
      .strictObject({
        enabled: flag,
        max_depth: whole(0, 16),
        max_iterations: turns,
        timeout_seconds: seconds,
        artifact_kinds: z.array(z.enum(['note', 'path', 'diff', 'json'])),
      })
      .partial(),
    xzatoma: z.strictObject({ max_depth: whole(1, 16), default_max_turns: whole(1, 50), output_max_size: whole(64, 16_777_216) }).partial(),
    openfork: z.strictObject({ max_concurrent: atOnce }).partial(),
  })
  .partial();

/** A configuration file. Rules are checked by their own parser. */
export const Config = z
  .strictObject({
    model: z.string('must be a name like "anthropic/…"').min(1).max(500),
    providers: z.record(z.string(), Provider),
    limits: Limits.partial(),
    rules: words,
    sandbox: z.enum(['required', 'auto', 'off']),
    durability: z.enum(['normal', 'full']),
    prices: z.record(
      z.string(),
      z.strictObject({ input: amount, output: amount, cached: amount.optional(), reasoning: amount.optional() }),
    ),
    dialects: Dialects,
    mcpServers: z.record(McpServerName, McpServer),
  })
  .partial();
export type Config = z.infer<typeof Config>;

/** Keys that an object at this place may have; empty where any will do. */
export function keysAt(path: readonly PropertyKey[]): string[] {
  let schema: unknown = Config;
  for (const key of path) {
    const at = unwrapped(schema);
    schema = at instanceof z.ZodRecord ? at.valueType : at instanceof z.ZodObject ? at.shape[key as string] : undefined;
  }
  const end = unwrapped(schema);
  return end instanceof z.ZodObject ? Object.keys(end.shape) : [];
}

function unwrapped(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? unwrapped(schema.unwrap()) : schema;
}
