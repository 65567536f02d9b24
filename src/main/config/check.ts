import type { z } from 'zod';
import { isRetinueError, RetinueError } from '../../contract/error.ts';
import type { Json } from '../../contract/json.ts';
import { Limits } from '../../contract/limits.ts';
import { parseRule } from '../../rules/policy.ts';
import { nearestName, unknownNameMessage } from '../../text/suggest.ts';
import type { Document } from './document.ts';
import { Config, keysAt } from './schema.ts';

const maxProblems = 10;

/** Checks a document against the schema. Throws `invalid_config` with every problem on a line of its own. */
export function checkConfig(document: Document): Config {
  const result = Config.safeParse(document.value);
  const problems = [
    ...hidden(document, document.value, []),
    ...(result.success ? rulesOf(document, result.data) : result.error.issues.flatMap((issue) => describe(document, issue))),
  ];
  if (!result.success || problems.length > 0) {
    const shown = problems.slice(0, maxProblems).map((problem) => problem.message);
    if (problems.length > maxProblems) shown.push(`and ${problems.length - maxProblems} more`);
    throw new RetinueError('invalid_config', shown.join('\n'));
  }
  return result.data;
}

function describe(document: Document, issue: z.core.$ZodIssue): RetinueError[] {
  const path = issue.path;
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) =>
      document.problem(
        [...path, key],
        unknownNameMessage(
          'key',
          named([...path, key]),
          keysAt(path).map((k) => named([...path, k])),
        ),
        true,
      ),
    );
  const name = path.length === 0 ? 'the configuration' : `\`${named(path)}\``;
  return [document.problem(path, `${name} ${wanted(document.value, issue)}`)];
}

function wanted(root: Json, issue: z.core.$ZodIssue): string {
  const [section, limit] = issue.path;
  if (section === 'limits' && limit !== undefined) return limitRange(String(limit));
  const value = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], root);
  if (issue.code === 'invalid_value') {
    const options = issue.values.map(String);
    const near = typeof value === 'string' ? nearestName(value, options) : null;
    return `must be one of ${options.join(', ')}${near === null ? '' : `; did you mean \`${near}\`?`}`;
  }
  if (issue.code === 'too_small') return `must be ${sizeOf(issue)} at least ${issue.minimum}`;
  if (issue.code === 'too_big') return `must be ${sizeOf(issue)} at most ${issue.maximum}`;
  // Its message says only that the key is wrong.
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? 'is no name';
  if (issue.code === 'invalid_type' && value === undefined) return 'is missing';
  if (issue.code === 'invalid_type' && (issue.expected === 'object' || issue.expected === 'record')) return 'must be an object';
  return issue.message.startsWith('must') ? issue.message : `is wrong: ${issue.message}`;
}

function sizeOf(issue: { origin: string }): string {
  return issue.origin === 'string' ? 'of a length of' : '';
}

/** A limit says what is right whatever is wrong with it: "5m", 0 and 1e99 need the same advice. */
function limitRange(name: string): string {
  const limit = Limits.shape[name as keyof typeof Limits.shape];
  if (name === 'maxCostUsd') return 'must be a number above 0 and up to 1000000 (US dollars)';
  return `must be a whole number from ${limit.minValue} to ${limit.maxValue}${name.endsWith('Ms') ? ' (milliseconds)' : ''}`;
}

function rulesOf(document: Document, config: Config): RetinueError[] {
  return (config.rules ?? []).flatMap((rule, i) => {
    try {
      parseRule(rule);
      return [];
    } catch (error) {
      if (!isRetinueError(error)) throw error;
      return [document.problem(['rules', i], error.message)];
    }
  });
}

/** Keys that libraries treat as something else than a key, in free-form objects too. */
function hidden(document: Document, value: Json, path: PropertyKey[]): RetinueError[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '__proto__'
      ? [document.problem([...path, key], `unknown key \`${named([...path, key])}\``, true)]
      : hidden(document, inner, [...path, key]),
  );
}

function named(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}
