import { z } from 'zod';
import { Limits } from '../../contract/limits.ts';
import { McpServer, McpServerName } from '../../contract/mcp-server.ts';
import { DialectsConfig } from '../../dialects/settings.ts';

const amount = z.number('must be a number of US dollars for a million tokens').min(0).max(1_000_000);
const words = z.array(z.string('must be a string').min(1), 'must be a list of strings');

// A pasted secret must not pass for a name, and must not be repeated in a message.
const variableName = z.string().regex(/^[A-Z_][A-Z0-9_]{0,99}$/, 'must be the name of a variable, such as GITHUB_TOKEN; never its value');

const Provider = z.strictObject({
  kind: z.enum(['anthropic', 'openai', 'google', 'ollama', 'openai-compatible']),
  baseURL: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
  // A pasted key must not pass for a name, and must not be repeated in a message.
  apiKeyEnv: z
    .string()
    .regex(/^[A-Z_][A-Z0-9_]{0,99}$/, 'must be the name of a variable, such as OPENAI_API_KEY; never the key itself')
    .optional(),
});

/** A configuration file. Rules are checked by their own parser. */
export const Config = z
  .strictObject({
    model: z.string('must be a name like "anthropic/…"').min(1).max(500),
    providers: z.record(z.string(), Provider),
    limits: Limits.partial(),
    rules: words,
    sandbox: z.enum(['required', 'auto', 'off']),
    env: z.record(z.string(), z.array(variableName, 'must be a list of names of variables')),
    durability: z.enum(['normal', 'full']),
    prices: z.record(
      z.string(),
      z.strictObject({ input: amount, output: amount, cached: amount.optional(), reasoning: amount.optional() }),
    ),
    dialects: DialectsConfig,
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
