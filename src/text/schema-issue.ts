// Says what a schema refused in plain words: what the value has to be.
import type { z } from 'zod';

const units: Partial<Record<string, string>> = { string: ' characters', array: ' entries' };

export function describeIssue(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'unrecognized_keys':
      return 'there is no such key';
    // The outer message says only that the key is wrong.
    case 'invalid_key':
      return issue.issues[0]?.message ?? issue.message;
    case 'too_small':
      return `must ${toAmount(issue.origin, 'at least', issue.minimum)}`;
    case 'too_big':
      return `must ${toAmount(issue.origin, 'at most', issue.maximum)}`;
    case 'invalid_value':
      return issue.values.length === 1 ? `must be ${String(issue.values[0])}` : `must be one of ${issue.values.join(', ')}`;
    default:
      return issue.message;
  }
}

function toAmount(origin: string, bound: string, count: number | bigint): string {
  const unit = units[origin];
  return unit === undefined ? `be ${bound} ${count}` : `have ${bound} ${count}${unit}`;
}
