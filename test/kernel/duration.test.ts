import { expect, it } from 'vitest';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { createWorld } from '../support/world.ts';

it.each([3_600_000, -3_600_000])('the duration of a run does not follow a jump of the wall clock by %i ms', async (jump) => {
  const clock = createHandClock();
  await using world = await createWorld({ clock, script: { runs: [{ steps: [{ text: 'done', delayMs: 5000 }] }] } });
  const run = await world.runtime.start({ task: 'x' });
  await clock.advance(2000);
  clock.jump(jump);
  await clock.advance(4000);
  expect((await run.outcome).durationMs).toBe(5000);
});
