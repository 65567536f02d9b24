// Describes why a schema refused a value, in the words of whoever wrote the value.
import type { z } from 'zod';
import { clipName, nearestName, unknownNameMessage } from './suggest.ts';

/**
 * What the value must be, to follow its name: `must be a number`. `root`: the whole value that was checked. `known`: the keys that the schema has where
 * the issue is, for a key that it does not have.
 */
export function describeIssue(issue: z.core.$ZodIssue, root: unknown, known: readonly string[] = []): string {
  const value = valueAt(root, issue.path);
  switch (issue.code) {
    case 'invalid_type': {
      // The schema may have a text of its own.
      const expected = issue.message.startsWith('must ') ? issue.message : mustBe(issue.expected);
      return value === undefined ? `is missing; it ${expected}` : expected;
    }
    case 'too_small':
      return describeSize(issue.origin, Number(issue.minimum), 'at least');
    case 'too_big':
      return describeSize(issue.origin, Number(issue.maximum), 'at most');
    case 'invalid_value': {
      const options = issue.values.map(String);
      const near = typeof value === 'string' ? nearestName(value, options) : null;
      const list = options.length === 1 ? `must be ${options[0]}` : `must be one of ${options.join(', ')}`;
      return `${value === undefined ? 'is missing; it ' : ''}${list}${near === null ? '' : `; did you mean \`${near}\`?`}`;
    }
    case 'unrecognized_keys': {
      const [key = ''] = issue.keys;
      return known.length > 0 ? `has an ${unknownNameMessage('key', key, known)}` : `has an unknown key \`${clipName(key)}\``;
    }
    // The outer message says only that the key is wrong.
    case 'invalid_key':
      return issue.issues[0]?.message ?? 'has a key that is not a valid name';
    case 'invalid_union':
      return issue.message === 'Invalid input' ? 'has none of the forms that are possible here' : issue.message;
    default:
      return issue.message;
  }
}

const types: Record<string, string> = {
  string: 'text',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

function mustBe(type: string): string {
  return `must be ${types[type] ?? type}`;
}

function describeSize(origin: string, size: number, bound: 'at least' | 'at most'): string {
  const unit = { string: 'character', array: 'entry', set: 'entry', record: 'entry' }[origin];
  if (unit === undefined) return `must be ${bound} ${size}`;
  if (bound === 'at least' && size === 1) return 'must not be empty';
  const units = size === 1 ? unit : unit === 'entry' ? 'entries' : `${unit}s`;
  return `must have ${bound} ${size} ${units}`;
}

/** Marks a value that cannot be looked up, because the schema computed it from another one. */
const derived = Symbol('derived');

/** Undefined if it is missing. */
function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let at = root;
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return derived;
    at = Object.hasOwn(at, step) ? at[step as keyof typeof at] : undefined;
  }
  return at;
}
