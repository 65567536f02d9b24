// The schema of a configuration file. Rules are strings here; their own parser checks them.
import { z } from 'zod';
import { BudgetName } from '../contract/budget.ts';
import { CompactionSettings } from '../contract/compaction.ts';
import { Effort } from '../contract/effort.ts';
import { Limits } from '../contract/limits.ts';
import { McpServer, McpServerName } from '../contract/mcp-server.ts';
import { PromptCache } from '../contract/prompt-cache.ts';
import { DialectsConfig } from '../dialects/settings.ts';
import { hasPassword, isDatabaseUrl, isWellFormedUrl } from '../stores/postgres/url.ts';
import { NotifySettings } from './notify-settings.ts';
import { variableName } from './variable-name.ts';

const amount = z.number('must be a number of US dollars per million tokens').min(0).max(1_000_000);
const strings = z.array(z.string('must be a string').min(1), 'must be a list of strings');

const Provider = z.strictObject({
  kind: z.enum(['anthropic', 'openai', 'google', 'ollama', 'openai-compatible']),
  baseURL: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
  apiKeyEnv: variableName('OPENAI_API_KEY').optional(),
  rate: z
    .strictObject({
      requestsPerMinute: z.int().min(1).max(1_000_000),
      tokensPerMinute: z.int().min(1_000).max(1_000_000_000),
      concurrent: z.int().min(1).max(10_000),
    })
    .partial()
    .optional(),
});

/** The value may contain a password, so no message shows it. */
const DatabaseAddress = z
  .string('must be an address such as "postgres://user@host/database"')
  .refine(isDatabaseUrl, 'must be an address such as "postgres://user@host/database"; for a file, use --db or RETINUE_DB')
  .refine((text) => !isDatabaseUrl(text) || isWellFormedUrl(text), 'must have the form "postgres://user@host:port/database"')
  .refine((text) => !hasPassword(text), 'must not contain a password; put it in PGPASSWORD or ~/.pgpass');

const nameProblem = 'must be a name like "anthropic/…", or a list of such names';
const ModelName = z.string(nameProblem).min(1).max(500);
const ModelNames = z.union([ModelName, z.array(ModelName).min(1).max(20)], nameProblem);

export const Config = z
  .strictObject({
    /** With several names, a run goes on to the next one if a provider keeps failing or a call is too expensive for its budget. */
    model: z.union(
      [ModelName, z.array(ModelName).min(1).max(20), z.record(z.string().min(1), ModelNames)],
      'must be a name like "anthropic/…", a list of names, or an object with one of these for each agent and for "*"',
    ),
    effort: Effort,
    promptCache: PromptCache,
    db: DatabaseAddress,
    providers: z.record(z.string(), Provider),
    limits: Limits.partial(),
    budgets: z.array(BudgetName, 'must be a list of names of budgets').max(20),
    compaction: CompactionSettings,
    rules: strings,
    sandbox: z.enum(['required', 'auto', 'off']),
    env: z.record(z.string(), z.array(variableName('GITHUB_TOKEN'), 'must be a list of variable names')),
    durability: z.enum(['normal', 'full']),
    prices: z.record(
      z.string(),
      z.strictObject({
        input: amount,
        output: amount,
        cached: amount.optional(),
        cacheWrite: amount.optional(),
        cacheWrite1h: amount.optional(),
        reasoning: amount.optional(),
      }),
    ),
    dialects: DialectsConfig,
    mcpServers: z.record(McpServerName, McpServer),
    /** Only in the user's own configuration. */
    notify: NotifySettings,
    /** Only in the user's own configuration. */
    telemetry: z
      .strictObject({
        endpoint: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }),
        headers: z.record(z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header'), variableName('OTLP_TOKEN')),
        protocol: z.enum(['http/protobuf', 'http/json']),
        content: z.boolean('must be true or false'),
      })
      .partial(),
  })
  .partial();
export type Config = z.infer<typeof Config>;

/** Keys that the object at this path may have; empty if any key is allowed. */
export function keysAt(path: readonly PropertyKey[]): string[] {
  let schema: unknown = Config;
  for (const key of path) {
    const current = unwrapOptional(schema);
    schema = current instanceof z.ZodRecord ? current.valueType : current instanceof z.ZodObject ? current.shape[key as string] : undefined;
  }
  const end = unwrapOptional(schema);
  return end instanceof z.ZodObject ? Object.keys(end.shape) : [];
}

function unwrapOptional(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? unwrapOptional(schema.unwrap()) : schema;
}
