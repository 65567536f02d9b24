// Checks a user's dialect when it is defined, so that mistakes do not first appear in a run.
import { z } from 'zod';
import { Agent } from '../contract/agent.ts';
import { RetinueError } from '../contract/error.ts';
import { LimitsGiven } from '../contract/limits.ts';
import type { Dialect, DialectSetup, DialectTool } from '../ports/dialect.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import { dialectNames } from './index.ts';

export interface DialectDefinition {
  /** Lower-case letters, digits, `-` and `_`; not the name of a built-in dialect. It is recorded in the facts of every run. */
  name: string;
  description: string;
  // biome-ignore lint/suspicious/noExplicitAny: tools of one dialect have different inputs
  tools: DialectTool<any>[];
  setup?: DialectSetup;
}

/** Returns the tool as it is, so that TypeScript infers the type of its input from its schema. */
export function defineDialectTool<I>(tool: DialectTool<I>): DialectTool<I> {
  return tool;
}

/** Creates a user-defined dialect. Throws `invalid_config` with the first problem of the definition. */
export function defineDialect({ name, description, tools, setup }: DialectDefinition): Dialect {
  if (!/^[a-z][a-z0-9_-]{0,63}$/.test(name)) {
    throw invalidDialect(name, 'the name must start with a letter and consist of lower-case letters, digits, - and _');
  }
  if (dialectNames.includes(name)) throw invalidDialect(name, 'a built-in dialect has this name');
  if (typeof description !== 'string' || description.trim() === '') throw invalidDialect(name, 'it has no description');
  if (!Array.isArray(tools) || tools.length === 0) throw invalidDialect(name, 'it has no tools');
  const names = new Set<string>();
  for (const tool of tools) {
    if (!/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/.test(tool.name)) throw invalidDialect(name, `\`${tool.name}\` is not a valid tool name`);
    if (names.has(tool.name)) throw invalidDialect(name, `two tools have the name \`${tool.name}\``);
    names.add(tool.name);
    checkTool(name, tool);
  }
  if (setup) checkSetup(name, setup);
  return { name, description, tools, ...(setup && { setup }) };
}

function checkTool(dialect: string, tool: DialectTool): void {
  for (const key of ['description', 'toRequest', 'fromReply'] as const) {
    if (typeof tool[key] !== 'function') throw invalidDialect(dialect, `\`${key}\` of ${tool.name} is not a function`);
  }
  for (const key of ['input', 'output'] as const) {
    const schema = tool[key];
    if (schema === undefined && key === 'output') continue;
    if (getJsonType(schema) !== 'object') {
      throw invalidDialect(dialect, `\`${key}\` of ${tool.name} must be a zod schema that converts to a JSON Schema of an object`);
    }
  }
}

/** Null if the schema has no JSON Schema. */
function getJsonType(schema: unknown): unknown {
  try {
    return z.toJSONSchema(schema as z.ZodType, { io: 'input' }).type;
  } catch {
    return null;
  }
}

const setupKeys: Record<keyof DialectSetup, true> = {
  limits: true,
  whenFull: true,
  host: true,
  endsWithClient: true,
  agents: true,
  root: true,
  offerAlways: true,
  notOffered: true,
  refusesMissingTools: true,
  recordsCalls: true,
  first: true,
  rules: true,
  denial: true,
  asks: true,
  context: true,
  activity: true,
};

function checkSetup(dialect: string, setup: DialectSetup): void {
  const unknown = Object.keys(setup).find((key) => !Object.hasOwn(setupKeys, key));
  if (unknown !== undefined) throw invalidDialect(dialect, unknownNameMessage('key of setup', unknown, Object.keys(setupKeys)));
  const { agents = [], limits = {} } = setup;
  const parsedLimits = LimitsGiven.safeParse(limits);
  if (!parsedLimits.success) throw invalidDialect(dialect, `setup.limits.${formatFirstIssue(parsedLimits.error)}`);
  for (const [index, agent] of agents.entries()) {
    const parsed = Agent.safeParse(agent);
    if (!parsed.success) throw invalidDialect(dialect, `setup.agents.${index}.${formatFirstIssue(parsed.error)}`);
  }
}

function formatFirstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  return `${issue?.path.join('.')}: ${issue?.message}`;
}

function invalidDialect(name: string, problem: string): RetinueError {
  return new RetinueError('invalid_config', `dialect \`${name}\`: ${problem}`);
}
