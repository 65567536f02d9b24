// How often a worker without work looks at its queues.
import { expect, it } from 'vitest';
import type { Queue } from '../../src/ports/queue.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { startWorker } from '../../src/worker/worker.ts';

async function countCalls(queues: string[]): Promise<number> {
  const clock = createHandClock();
  const real = createMemoryStore().queue as Queue;
  let calls = 0;
  const count =
    <Args extends unknown[], T>(call: (...args: Args) => T) =>
    (...args: Args) => {
      calls++;
      return call(...args);
    };
  const queue = { ...real, take: count(real.take), findWaiting: count(real.findWaiting), findOrphans: count(real.findOrphans) };
  const worker = startWorker({
    ...{ queue, clock, queues, concurrency: 4, graceMs: 0 },
    log: () => {},
    openTree: () => Promise.reject(new Error('there are no trees')),
    enqueueDue: () => Promise.reject(new Error('there are no schedules')),
  });
  await clock.advance(60_000);
  await worker.stop();
  return calls;
}

it('asks the database as often with three queues as with one', async () => {
  const one = await countCalls(['a']);
  expect(await countCalls(['a', 'b', 'c'])).toBe(one);
  expect(one / 60).toBeLessThan(0.7);
});
