import { expect, it } from 'vitest';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { createProblemLimit } from '../../src/worker/problem-limit.ts';

it('gives a tree up after ten attempts if it is older than an hour', async () => {
  const clock = createHandClock();
  const limit = createProblemLimit(clock, 30_000);
  const since = new Date(clock.now()).toISOString();
  for (let attempt = 1; attempt <= 20; attempt++) expect(limit.isReached('a', since)).toBe(false);
  expect(limit.isRecent('a')).toBe(true);
  await clock.advance(3_600_000);
  expect(limit.isRecent('a')).toBe(false);
  expect(limit.isReached('a', since)).toBe(true);
  // A tree that waited for its start gets its attempts too.
  for (let attempt = 1; attempt < 10; attempt++) expect(limit.isReached('b', since)).toBe(false);
  expect(limit.isReached('b', since)).toBe(true);
  limit.forget('b');
  expect(limit.isReached('b', since)).toBe(false);
});
