// Parsers for the values in the front matter of an agent file. Each throws `invalid_config` with a message that says what is expected.
import type { z } from 'zod';
import { Effort } from '../contract/effort.ts';
import { RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import { LimitsGiven } from '../contract/limits.ts';
import { markInvisible } from '../text/invisible.ts';
import { nearestName } from '../text/suggest.ts';
import { splitTools } from './tool-lists.ts';

/** Functions from folders that this one must not import. */
export interface ParserDeps {
  /** Throws RetinueError `invalid_rule`. `index`: its place in `rules`. */
  checkRule(text: string, index: number): void;
  /** Converts `90s` or `10m` to milliseconds; a bare number is seconds. Null if it is no duration. */
  durationMs(text: string): number | null;
}

/** Parses the value of a key if the file has it. An error is recorded with the line of the key. */
export type Field = <T>(key: string, read: (value: Json) => T) => T | undefined;

const maxDescription = 1_000;
/** Agents of dialects. An agent file may add others to dialects that let the owner do so: hats of Dex, and types of OpenFork. */
const dialectAgents: Record<string, readonly string[] | 'all'> = {
  dex: ['main', 'explorer', 'planner', 'creator', 'critic', 'editor'],
  openfork: ['main', 'general', 'explore', 'planner', 'researcher'],
  ralph: 'all',
  rx: 'all',
  xzatoma: 'all',
  claude: 'all',
  codex: 'all',
};
const namePattern = /^[a-z0-9][a-z0-9_-]*(\/[a-z0-9][a-z0-9_-]*)?$/;

export function parseNames(value: Json, key: string): string[] {
  if (typeof value === 'string') return splitTools(value);
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.map((item) => item.trim());
  const empty = key === 'tools' ? '; `[]` means none, and without the key the agent gets all' : '';
  throw new RetinueError('invalid_config', `\`${key}\` must be a list of names, such as \`Read, Grep\`${empty}`);
}

/** True for `plan`. Modes that would widen rights are refused, because an agent can only narrow them. */
export function parsePermissionMode(value: Json): boolean {
  if (value === 'default') return false;
  if (value === 'plan') return true;
  const shown = typeof value === 'string' ? value : JSON.stringify(value);
  throw new RetinueError(
    'invalid_config',
    `\`permissionMode: ${shown}\` is refused: an agent can only narrow rights; use \`plan\` (only tools that change nothing) or \`default\``,
  );
}

export function parseName(value: Json): string {
  const name = parseText(value, 'name');
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9_/-]+/g, '-')
    .replace(/^[^a-z0-9]+|-+$/g, '');
  if (!namePattern.test(name)) {
    const hint = namePattern.test(slug) && slug !== name ? `; write \`${slug}\`` : '';
    throw new RetinueError('invalid_config', `\`name\` may contain only lower-case letters, digits, - and _${hint}`);
  }
  const [space = '', own] = name.split('/');
  const reserved = own !== undefined && Object.hasOwn(dialectAgents, space) ? dialectAgents[space] : undefined;
  if (reserved === 'all')
    throw new RetinueError('invalid_config', `\`name\`: names that begin with ${space}/ are reserved for the dialect ${space}`);
  if (own !== undefined && reserved?.includes(own))
    throw new RetinueError('invalid_config', `\`name\`: the dialect ${space} has an agent ${name} of its own; choose another name`);
  return name;
}

export function parseModel(value: Json, warnings: string[]): string | string[] | undefined {
  const names = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(names) || names.length === 0 || !names.every((name) => typeof name === 'string' && name.trim() !== ''))
    throw new RetinueError('invalid_config', '`model` must be `provider/model`, a list of such names, or `inherit`');
  const found = (names as string[]).filter((name) => {
    if (name === 'inherit' || name.includes('/')) return name !== 'inherit';
    warnings.push(
      `\`model: ${name}\` names no provider, so the agent uses the model of the run that delegates to it; write \`provider/${name}\``,
    );
    return false;
  });
  return found.length === 0 ? undefined : found.length === 1 ? (found[0] as string) : found;
}

export function parseLimits(field: Field, { durationMs }: ParserDeps): LimitsGiven {
  const given = field('limits', (value) => checkSchema(LimitsGiven, value, 'limits')) ?? {};
  const maxTurns = field('maxTurns', (value) => checkSchema(LimitsGiven.shape.maxTurns, value, 'maxTurns'));
  const timeoutMs = field('timeout', (value) => {
    const ms = typeof value === 'string' || typeof value === 'number' ? durationMs(String(value)) : null;
    if (ms === null)
      throw new RetinueError('invalid_config', '`timeout` must be a duration such as `90s` or `10m`; a bare number is seconds');
    return ms;
  });
  const limits: LimitsGiven = { ...given, ...optionalKey('maxTurns', maxTurns), ...optionalKey('timeoutMs', timeoutMs) };
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

function checkSchema<T>(schema: z.ZodType<T>, value: Json, key: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues as [z.core.$ZodIssue];
  if (issue.code === 'unrecognized_keys') {
    const [unknown = ''] = issue.keys;
    const near = nearestName(unknown, Object.keys(LimitsGiven.shape));
    throw new RetinueError(
      'invalid_config',
      `unknown key \`${key}.${unknown}\`${near === null ? '' : `; did you mean \`${key}.${near}\`?`}`,
    );
  }
  throw new RetinueError('invalid_config', `\`${[key, ...issue.path].join('.')}\` is invalid: ${issue.message}`);
}

export function parseRules(value: Json, { checkRule }: ParserDeps): string[] {
  if (!Array.isArray(value) || !value.every((rule) => typeof rule === 'string'))
    throw new RetinueError('invalid_config', '`rules` must be a list such as `["deny bash", "allow read:src/*"]`');
  for (const [i, rule] of value.entries()) checkRule(rule, i);
  return value;
}

export function parseText(value: Json, key: string): string {
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  throw new RetinueError('invalid_config', `\`${key}\` must be a non-empty text`);
}

export function parseFlag(value: Json, key: string): boolean {
  if (typeof value === 'boolean') return value;
  throw new RetinueError('invalid_config', `\`${key}\` must be true or false`);
}

export function parseEffortField(value: Json): Effort {
  return checkSchema(Effort, value, 'effort');
}

/** Anything else would leave the run less isolated than the file says. */
export function parseIsolation(value: Json): 'worktree' {
  if (value === 'worktree') return value;
  throw new RetinueError('invalid_config', '`isolation` must be `worktree`: each run of the agent works on its own copy of the files');
}

/** Descriptions are one line each in the list that models see. */
export function toOneLine(description: string): string {
  const line = markInvisible(description.toWellFormed().replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ')).trim();
  return line.length > maxDescription ? `${line.slice(0, maxDescription).trimEnd()}…` : line;
}

export function optionalKey<K extends string, T>(key: K, value: T | undefined): { [P in K]?: T } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: T };
}
