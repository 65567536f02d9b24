// Checks the options of the library when they are given, so that a wrong value fails there with its name and not later in a run, or never.
import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { Config } from '../config/schema.ts';
import { hostNames, sandboxModes } from '../config/settings.ts';
import { traceProtocols } from '../config/telemetry.ts';
import { Agent } from '../contract/agent.ts';
import { BudgetName } from '../contract/budget.ts';
import { CompactionSettings } from '../contract/compaction.ts';
import { Effort } from '../contract/effort.ts';
import { type ErrorCode, RetinueError } from '../contract/error.ts';
import { LimitsGiven, maxMs } from '../contract/limits.ts';
import { McpServer, McpServerName } from '../contract/mcp-server.ts';
import { PromptCache } from '../contract/prompt-cache.ts';
import { isFlowDefinition } from '../flows/definition.ts';
import { parseRule } from '../rules/policy.ts';
import { describeIssue } from '../text/describe-issue.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import type { FlowStartOptions, QueueOptions, RetinueOptions, ScopeOptions, TraceOptions } from './types.ts';

const hasFields =
  (...names: string[]) =>
  (value: unknown) =>
    typeof value === 'object' && value !== null && names.every((name) => name in value);
const isFunction = (value: unknown) => typeof value === 'function';
const isModel = (value: unknown) =>
  (typeof value === 'string' && value.trim() !== '') || isFunction(value) || hasFields('specificationVersion', 'modelId')(value);
const signal = z.instanceof(AbortSignal, { error: 'must be an AbortSignal' });

/** Their content is not checked here: a malformed trace must not stop a program. */
const traceSchemas = { traceparent: () => z.string('must be text'), tracestate: () => z.string('must be text') };

const label = () => z.string('must be text').max(200);
const budgetNames = z.array(BudgetName, 'must be a list of names of budgets').max(20);

/** Each is made when its option is given: a program gives few of them. */
const optionSchemas: Record<keyof RetinueOptions, () => z.ZodType> = {
  model: () => z.custom(isModel, 'must be a name like "anthropic/…" or a model object of the AI SDK'),
  tools: () => z.record(z.string().min(1), z.custom(hasFields(), 'must be a tool object')),
  agents: () => z.array(Agent.omit({ source: true })),
  mcpServers: () => z.record(McpServerName, McpServer),
  workspace: () => z.string('must be the path of a folder').min(1),
  addDirs: () => z.array(z.string('must be the path of a folder').min(1)),
  rules: () => z.array(z.string('must be a rule, such as "allow bash"')),
  approve: () => z.custom(isFunction, 'must be a function'),
  approveMs: () => z.int(`must be a whole number from 1 to ${maxMs} (milliseconds)`).min(1).max(maxMs),
  limits: () => LimitsGiven,
  budgets: () => budgetNames,
  routes: () =>
    z.record(
      z.string().min(1),
      z.union([z.string().min(1), z.array(z.string().min(1)).min(1)], 'must be a name like "anthropic/…", or a list of such names'),
    ),
  effort: () => Effort,
  promptCache: () => PromptCache,
  compaction: () => CompactionSettings,
  prices: () => Config.shape.prices.unwrap().superRefine(checkPriceKeys),
  store: () => z.custom(hasFields('facts', 'runs'), 'must be a store, such as `createMemoryStore()`'),
  host: () => z.enum(hostNames),
  externalsFolder: () => z.string('must be the path of a folder').refine(isAbsolute, 'must be an absolute path'),
  sandbox: () => z.enum(sandboxModes),
  telemetry: () =>
    z.union([
      z.boolean(),
      z.strictObject({
        endpoint: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).optional(),
        headers: z.record(z.string(), z.string()).optional(),
        protocol: z.enum(traceProtocols).optional(),
        serviceName: z.string().min(1).optional(),
        content: z.boolean().optional(),
      }),
    ]),
  flows: () => z.array(z.custom(isFlowDefinition, 'must be a result of `defineFlow`')),
  dialect: () => z.custom(hasFields('name', 'tools'), 'must be a dialect of `retinue/dialects`'),
};

/** A key that no model can have would have no effect. */
function checkPriceKeys(prices: object, context: z.RefinementCtx): void {
  const wrong = Object.keys(prices).find((key) => key !== '*' && !/^[^/]+\/./.test(key));
  if (wrong !== undefined)
    context.addIssue({
      code: 'custom',
      path: [wrong],
      message: 'must name provider and model (`provider/model`), or be `*` for models without a price',
    });
}

const codes: Partial<Record<string, ErrorCode>> = {
  approveMs: 'invalid_limit',
  limits: 'invalid_limit',
  concurrency: 'invalid_limit',
  mcpServers: 'invalid_config',
};

/** Throws `usage`, `invalid_limit`, `invalid_config` or `invalid_rule`. */
export function checkOptions(options: RetinueOptions): void {
  if (typeof options !== 'object' || options === null)
    throw new RetinueError('usage', '`createRetinue` takes an object with at least a `model`, such as `{ model: "anthropic/…" }`');
  checkFields(options, optionSchemas);
  if (options.model === undefined)
    throw new RetinueError('usage', '`model` is missing: a name like "anthropic/…", or a model object of the AI SDK');
  if (options.approveMs !== undefined && options.approve === undefined)
    throw new RetinueError('usage', '`approveMs` has no effect without `approve`');
  for (const rule of options.rules ?? []) parseRule(rule);
}

/** Throws like `checkOptions`. */
export function checkScopeOptions(options: ScopeOptions): void {
  checkFields(options, { label, limits: () => LimitsGiven, budgets: () => budgetNames, signal: () => signal, ...traceSchemas });
}

/** Throws like `checkOptions`. */
export function checkFlowOptions(options: FlowStartOptions): void {
  checkFields(options, {
    label,
    limits: () => LimitsGiven,
    budgets: () => budgetNames,
    effort: () => Effort,
    ...traceSchemas,
  });
}

/** Throws like `checkOptions`. */
export function checkDelegateOptions(options: TraceOptions): void {
  checkFields(options, traceSchemas);
}

/** Throws like `checkOptions`. */
export function checkQueueOptions(options: QueueOptions): void {
  checkFields(options, {
    ...traceSchemas,
    queue: () => z.string('must be the name of a queue').min(1),
    priority: () => z.int('must be a whole number from -1000 to 1000').min(-1_000).max(1_000),
    group: () => z.string('must be text').min(1).max(100),
    startAfter: () => z.date('must be a Date'),
  });
}

/** Throws like `checkOptions`. */
export function checkAllOptions(options: object): void {
  checkFields(options, { ...traceSchemas, concurrency: () => z.int('must be a whole number from 1 to 10000').min(1).max(10_000) });
}

function checkFields(given: object, schemas: Record<string, () => z.ZodType>): void {
  for (const [name, value] of Object.entries(given)) {
    const makeSchema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    if (!makeSchema) throw new RetinueError('usage', unknownNameMessage('option', name, Object.keys(schemas)));
    if (value === undefined) continue;
    const schema = makeSchema();
    const issue = schema.safeParse(value).error?.issues[0];
    if (!issue) continue;
    const keys = issue.path.length === 0 && schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
    throw new RetinueError(codes[name] ?? 'usage', `\`${[name, ...issue.path].join('.')}\`: ${describeIssue(issue, value, keys)}`);
  }
}
