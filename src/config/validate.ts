// Checks a configuration file against the schema and says what each wrong value should be.
import type { z } from 'zod';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import type { Json } from '../contract/json.ts';
import { Limits } from '../contract/limits.ts';
import { parseRule } from '../rules/policy.ts';
import { describeIssue } from '../text/describe-issue.ts';
import { unknownNameMessage } from '../text/suggest.ts';
import type { JsonDocument } from './json-document.ts';
import { readOnce } from './read-once.ts';
import { Config, keysAt } from './schema.ts';

const maxProblems = 10;

/** Throws `invalid_config` with one line per problem. */
export function validateConfig(document: JsonDocument): Config {
  const result = Config.safeParse(document.value, readOnce);
  const problems = [
    ...findReservedKeys(document, document.value, []),
    ...(result.success ? findInvalidRules(document, result.data) : result.error.issues.flatMap((issue) => issueToErrors(document, issue))),
  ];
  if (!result.success || problems.length > 0) {
    const lines = problems.slice(0, maxProblems).map((problem) => problem.message);
    if (problems.length > maxProblems) lines.push(`and ${problems.length - maxProblems} more`);
    throw new RetinueError('invalid_config', lines.join('\n'));
  }
  return result.data;
}

function issueToErrors(document: JsonDocument, issue: z.core.$ZodIssue): RetinueError[] {
  const path = issue.path;
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) =>
      document.problemAt(
        [...path, key],
        unknownNameMessage(
          'key',
          dotted([...path, key]),
          keysAt(path).map((known) => dotted([...path, known])),
        ),
        true,
      ),
    );
  const name = path.length === 0 ? 'the configuration' : `\`${dotted(path)}\``;
  return [document.problemAt(path, `${name} ${expectationText(document.value, issue)}`)];
}

function expectationText(root: Json, issue: z.core.$ZodIssue): string {
  const [section, limit] = issue.path;
  if (section === 'limits' && limit !== undefined) return limitRangeText(String(limit));
  return describeIssue(issue, root);
}

/** The same text whatever is wrong with the limit: "5m", 0 and 1e99 need the same advice. */
function limitRangeText(name: string): string {
  const limit = Limits.shape[name as keyof typeof Limits.shape];
  if (name === 'maxCostUsd') return 'must be a number above 0 and up to 1000000 (US dollars)';
  return `must be a whole number from ${limit.minValue} to ${limit.maxValue}${name.endsWith('Ms') ? ' (milliseconds)' : ''}`;
}

function findInvalidRules(document: JsonDocument, config: Config): RetinueError[] {
  return (config.rules ?? []).flatMap((rule, i) => {
    try {
      parseRule(rule);
      return [];
    } catch (error) {
      if (!isRetinueError(error)) throw error;
      return [document.problemAt(['rules', i], error.message)];
    }
  });
}

/** `__proto__` is dropped by the schema library instead of reported, in free-form objects too. */
function findReservedKeys(document: JsonDocument, value: Json, path: PropertyKey[]): RetinueError[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '__proto__'
      ? [document.problemAt([...path, key], `unknown key \`${dotted([...path, key])}\``, true)]
      : findReservedKeys(document, inner, [...path, key]),
  );
}

function dotted(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}
