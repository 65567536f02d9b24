// Checks a brief from outside the kernel and removes secrets from it.
import type { z } from 'zod';
import { Brief } from '../../contract/brief.ts';
import { RetinueError } from '../../contract/error.ts';
import { Limits } from '../../contract/limits.ts';
import { valueAt, withArticle } from '../../conversation/argument-problems.ts';
import type { Redact } from '../../ports/secrets.ts';
import { describeIssue } from '../../text/schema-issue.ts';
import { nearestName } from '../../text/suggest.ts';
import { redactJson } from '../tool-calls/original-arguments.ts';

/** Throws `invalid_brief` or `invalid_limit`. The keys are sorted, as in the fact that carries the brief. */
export function parseBrief(input: unknown): Brief {
  const parsed = Brief.safeParse(input);
  if (parsed.success) return Object.fromEntries(Object.entries(parsed.data).sort(([a], [b]) => (a < b ? -1 : 1))) as Brief;
  const { issues } = parsed.error;
  // A misspelt key explains why another one is missing.
  const issue = (issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]) as z.core.$ZodIssue;
  const path = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = issue.path[0] === 'limits' ? Object.keys(Limits.shape) : issue.path.length === 0 ? Object.keys(Brief.shape) : [];
    const key = issue.keys[0] as string;
    const guess = nearestName(key, known);
    throw new RetinueError(
      'invalid_brief',
      `the brief has an unknown key \`${path === '' ? key : `${path}.${key}`}\`${guess ? `; did you mean \`${guess}\`?` : ''}`,
    );
  }
  throw new RetinueError(
    issue.path[0] === 'limits' ? 'invalid_limit' : 'invalid_brief',
    `${path || 'the brief'}: ${describeProblem(issue, input)}`,
  );
}

function describeProblem(issue: z.core.$ZodIssue, input: unknown): string {
  if (issue.code !== 'invalid_type') return describeIssue(issue);
  const expected = withArticle(issue.expected);
  return issue.path.length > 0 && valueAt(input, issue.path) === undefined
    ? `is missing; it has to be ${expected}`
    : `has to be ${expected}`;
}

/** Removes secrets of this process from all texts of a brief: it becomes a fact (invariant 11). */
export function redactBrief(brief: Brief, redact: Redact): Brief {
  return redactJson(brief, redact);
}
