// The values of an agent file's keys: each reader gives what counts, or throws `invalid_config` that says what is right.
import type { z } from 'zod';
import { RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import { LimitsGiven } from '../contract/limits.ts';
import { splitTools } from './tools.ts';

/** What reading agent files takes from parts that adapters do not see. */
export interface Reading {
  nearest(word: string, candidates: readonly string[]): string | null;
  /** Throws RetinueError `invalid_rule`. */
  checkRule(text: string): void;
  /** Milliseconds of `90s` or `10m`; a bare number is seconds. Null where it is none. */
  durationMs(text: string): number | null;
}

/** Reads a key where it is there; a reader's complaint is kept with the key's line. */
export type Field = <T>(key: string, read: (value: Json) => T) => T | undefined;

const maxDescription = 1_000;
const dialects = ['ralph', 'dex', 'openfork', 'rx', 'xzatoma'];
const namePattern = /^[a-z0-9][a-z0-9_-]*(\/[a-z0-9][a-z0-9_-]*)?$/;

export function listOf(value: Json, key: string): string[] {
  if (typeof value === 'string') return splitTools(value);
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.map((item) => item.trim());
  const empty = key === 'tools' ? '; `[]` means none, and to leave the key out means all' : '';
  throw new RetinueError('invalid_config', `\`${key}\` must be names, as \`Read, Grep\` or as a list${empty}`);
}

/** An agent can only narrow, so modes that let more through are refused. */
export function planOnly(value: Json): boolean {
  if (value === 'default') return false;
  if (value === 'plan') return true;
  const shown = typeof value === 'string' ? value : JSON.stringify(value);
  throw new RetinueError(
    'invalid_config',
    `\`permissionMode: ${shown}\` is refused: an agent can only narrow rights, so \`plan\` (tools that change nothing) and \`default\` are all there is; the owner's rules decide the rest`,
  );
}

export function nameOf(value: Json): string {
  const name = text(value, 'name');
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9_/-]+/g, '-')
    .replace(/^[^a-z0-9]+|-+$/g, '');
  if (!namePattern.test(name)) {
    const hint = namePattern.test(slug) && slug !== name ? `; write \`${slug}\`` : '';
    throw new RetinueError('invalid_config', `\`name\` must be of lower-case letters, digits, - and _${hint}`);
  }
  const [space] = name.split('/');
  if (name.includes('/') && dialects.includes(space as string))
    throw new RetinueError('invalid_config', `\`name\`: names that begin with ${space}/ belong to the dialect of that name`);
  return name;
}

export function modelOf(value: Json, warnings: string[]): string | string[] | undefined {
  const names = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(names) || names.length === 0 || !names.every((name) => typeof name === 'string' && name.trim() !== ''))
    throw new RetinueError('invalid_config', '`model` must be `provider/model`, a list of such names, or `inherit`');
  const found = (names as string[]).filter((name) => {
    if (name === 'inherit' || name.includes('/')) return name !== 'inherit';
    warnings.push(`\`model: ${name}\` names no provider, so the model of whoever delegates is used; write \`provider/${name}\``);
    return false;
  });
  return found.length === 0 ? undefined : found.length === 1 ? (found[0] as string) : found;
}

export function limitsOf(field: Field, { nearest, durationMs }: Reading): LimitsGiven {
  const given = field('limits', (value) => checked(LimitsGiven, value, 'limits', nearest)) ?? {};
  const maxTurns = field('maxTurns', (value) => checked(LimitsGiven.shape.maxTurns, value, 'maxTurns', nearest));
  const timeoutMs = field('timeout', (value) => {
    const ms = typeof value === 'string' || typeof value === 'number' ? durationMs(String(value)) : null;
    if (ms === null) throw new RetinueError('invalid_config', '`timeout` must be a time such as `90s` or `10m`; a bare number is seconds');
    return ms;
  });
  const limits: LimitsGiven = { ...given, ...optional('maxTurns', maxTurns), ...optional('timeoutMs', timeoutMs) };
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

function checked<T>(schema: z.ZodType<T>, value: Json, key: string, nearest: Reading['nearest']): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues as [z.core.$ZodIssue];
  if (issue.code === 'unrecognized_keys') {
    const [unknown = ''] = issue.keys;
    const near = nearest(unknown, Object.keys(LimitsGiven.shape));
    throw new RetinueError(
      'invalid_config',
      `unknown key \`${key}.${unknown}\`${near === null ? '' : `; did you mean \`${key}.${near}\`?`}`,
    );
  }
  throw new RetinueError('invalid_config', `\`${[key, ...issue.path].join('.')}\` is wrong: ${issue.message}`);
}

export function rulesOf(value: Json, { checkRule }: Reading): string[] {
  if (!Array.isArray(value) || !value.every((rule) => typeof rule === 'string'))
    throw new RetinueError('invalid_config', '`rules` must be a list such as `["deny bash", "allow read:src/*"]`');
  for (const rule of value) checkRule(rule);
  return value;
}

export function text(value: Json, key: string): string {
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  throw new RetinueError('invalid_config', `\`${key}\` must be a text that is not empty`);
}

export function flag(value: Json, key: string): boolean {
  if (typeof value === 'boolean') return value;
  throw new RetinueError('invalid_config', `\`${key}\` must be true or false`);
}

/** A description is one line in the list that models see. */
export function oneLine(description: string): string {
  const line = description.toWellFormed().replace(/\s+/g, ' ');
  return line.length > maxDescription ? `${line.slice(0, maxDescription).trimEnd()}…` : line;
}

export function optional<K extends string, T>(key: K, value: T | undefined): { [P in K]?: T } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: T };
}
