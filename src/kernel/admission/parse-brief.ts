// Checks a brief from outside the kernel and removes secrets from it.
import type { z } from 'zod';
import { Brief } from '../../contract/brief.ts';
import { RetinueError } from '../../contract/error.ts';
import { Limits } from '../../contract/limits.ts';
import type { Redact } from '../../ports/secrets.ts';
import { describeIssue } from '../../text/describe-issue.ts';
import { isValueDeeperThan, maxValueDepth } from '../../text/json-depth.ts';
import { nearestName } from '../../text/suggest.ts';
import { redactJson } from '../tool-calls/original-arguments.ts';

/** Throws `invalid_brief` or `invalid_limit`. The keys are sorted, as in the fact that carries the brief. */
export function parseBrief(input: unknown): Brief {
  if (isValueDeeperThan(input, maxValueDepth))
    throw new RetinueError('invalid_brief', `the brief is nested deeper than ${maxValueDepth} levels; make it flatter`);
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
    `${path || 'the brief'}: ${describeIssue(issue, input)}`,
  );
}

/** Labels and keys have to be readable. Models may leave a label empty. Throws `invalid_brief`. */
export function assertNames({ label, idempotencyKey }: Brief): void {
  if (label !== undefined && label.trim() === '')
    throw new RetinueError('invalid_brief', 'label: must not be empty; leave it out for a run without a label');
  if (idempotencyKey !== undefined && (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(idempotencyKey) || idempotencyKey.trim() !== idempotencyKey))
    throw new RetinueError(
      'invalid_brief',
      'idempotencyKey: must have no control characters, no invisible characters and no space at its ends; use letters, digits and `-`',
    );
}

/** Removes secrets of this process from all texts of a brief: it becomes a fact (invariant 11). */
export function redactBrief(brief: Brief, redact: Redact): Brief {
  return redactJson(brief, redact);
}
