import { z } from 'zod';
import { Agent } from '../contract/agent.ts';
import { RetinueError } from '../contract/error.ts';
import { LimitsGiven } from '../contract/limits.ts';
import type { Dialect, DialectSetup, DialectTool } from '../ports/dialect.ts';
import { dialectNames } from './index.ts';

export interface DialectDefinition {
  /** Lower-case letters, digits, `-` and `_`; not the name of a built-in dialect. It stands in the facts of every run. */
  name: string;
  description: string;
  // biome-ignore lint/suspicious/noExplicitAny: tools of one dialect have different inputs
  tools: DialectTool<any>[];
  setup?: DialectSetup;
}

/** A dialect of one's own. Throws `invalid_config` that says what is wrong with it: nothing of it is first found out in a run. */
export function defineDialect({ name, description, tools, setup }: DialectDefinition): Dialect {
  if (!/^[a-z][a-z0-9_-]{0,63}$/.test(name)) throw wrong(name, 'a name has lower-case letters, digits, - and _, and begins with a letter');
  if (dialectNames.includes(name)) throw wrong(name, 'a built-in dialect has this name');
  if (typeof description !== 'string' || description.trim() === '') throw wrong(name, 'it has no description');
  if (!Array.isArray(tools) || tools.length === 0) throw wrong(name, 'it has no tools');
  const known = new Set<string>();
  for (const tool of tools) {
    if (!/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/.test(tool.name)) throw wrong(name, `\`${tool.name}\` is no name of a tool`);
    if (known.has(tool.name)) throw wrong(name, `two tools are called \`${tool.name}\``);
    known.add(tool.name);
    checkTool(name, tool);
  }
  if (setup) checkSetup(name, setup);
  return { name, description, tools, ...(setup && { setup }) };
}

function checkTool(dialect: string, tool: DialectTool): void {
  for (const part of ['description', 'toRequest', 'fromReply'] as const) {
    if (typeof tool[part] !== 'function') throw wrong(dialect, `\`${part}\` of ${tool.name} is no function`);
  }
  for (const part of ['input', 'output'] as const) {
    const schema = tool[part];
    if (schema === undefined && part === 'output') continue;
    if (jsonTypeOf(schema) !== 'object')
      throw wrong(dialect, `\`${part}\` of ${tool.name} is no zod schema that becomes a JSON Schema of an object`);
  }
}

function jsonTypeOf(schema: unknown): unknown {
  try {
    return z.toJSONSchema(schema as z.ZodType, { io: 'input' }).type;
  } catch {
    return null;
  }
}

function checkSetup(dialect: string, { agents = [], limits = {} }: DialectSetup): void {
  const given = LimitsGiven.safeParse(limits);
  if (!given.success) throw wrong(dialect, `setup.limits.${issueOf(given.error)}`);
  for (const [index, agent] of agents.entries()) {
    const parsed = Agent.safeParse(agent);
    if (!parsed.success) throw wrong(dialect, `setup.agents.${index}.${issueOf(parsed.error)}`);
  }
}

function issueOf(error: z.ZodError): string {
  const issue = error.issues[0];
  return `${issue?.path.join('.')}: ${issue?.message}`;
}

function wrong(name: string, why: string): RetinueError {
  return new RetinueError('invalid_config', `dialect \`${name}\`: ${why}`);
}
