// Keys of an agent file that make it a recipe: parameters, the form of the result, and acceptance checks.

import type { AgentParameter } from '../contract/agent-parameter.ts';
import { AgentParameters } from '../contract/agent-parameter.ts';
import { Check } from '../contract/check.ts';
import { RetinueError } from '../contract/error.ts';
import type { Json, JsonObject } from '../contract/json.ts';

const maxChecks = 20;

export function parseParameters(value: Json): AgentParameter[] {
  const parsed = AgentParameters.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const at = ['parameters', ...(issue?.path ?? [])].join('.');
  throw new RetinueError('invalid_config', `\`${at}\` ${issue?.message ?? 'is invalid'}`);
}

/** What other agents and people see before they choose the agent. */
export function describeParameters(parameters: AgentParameter[] | undefined): string {
  if (parameters === undefined || parameters.length === 0) return '';
  return `[params: ${parameters.map(({ name, default: value }) => (value === undefined ? name : `${name}?`)).join(', ')}] `;
}

export function parseResult(value: Json): { schema: JsonObject } {
  const schema = typeof value === 'object' && value !== null && !Array.isArray(value) ? value.schema : undefined;
  if (typeof schema === 'object' && schema !== null && !Array.isArray(schema)) return { schema };
  throw new RetinueError('invalid_config', '`result` must be `{ schema: … }` with a JSON Schema');
}

/** Commands, `{ command, timeoutMs }` or `{ agent, task }`. */
export function parseChecks(value: Json): Check[] {
  const items = Array.isArray(value) ? value : [value];
  if (items.length > maxChecks) throw new RetinueError('invalid_config', `\`checks\` may have at most ${maxChecks} checks`);
  return items.map((item) => {
    const parsed = Check.safeParse(typeof item === 'string' ? { command: item } : item);
    if (parsed.success) return parsed.data;
    throw new RetinueError(
      'invalid_config',
      '`checks` must be a list of commands, of `{ command: npm test, timeoutMs: 60000 }` or of `{ agent: explore, task: … }`',
    );
  });
}

export function parseRounds(value: Json): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 20) return value;
  throw new RetinueError('invalid_config', '`maxCheckRounds` must be a whole number from 1 to 20');
}

/** The agent is told to load them; they are not part of its prompt. */
export function describeSkills(skills: string[] | undefined): string {
  if (skills === undefined || skills.length === 0) return '';
  return `\n\nBefore you begin, load with the tool \`skill\`: ${skills.join(', ')}.`;
}
