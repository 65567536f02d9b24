// What a worker reports while parts of its work fail.
import { expect, it } from 'vitest';
import type { Queue } from '../../src/ports/queue.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { startWorker } from '../../src/worker/worker.ts';

it('reports a problem of one kind of work once, although the others succeed, and that it is over', async () => {
  const clock = createHandClock();
  let isBroken = true;
  const queue = {
    ...(createMemoryStore().queue as Queue),
    take: () => (isBroken ? Promise.reject(new Error('out of order')) : Promise.resolve([])),
  };
  const messages: string[] = [];
  const worker = startWorker({
    ...{ queue, clock, queues: ['q'], concurrency: 1, graceMs: 0 },
    log: (event) => void (event.event === 'problem' && messages.push(event.message)),
    openTree: () => Promise.reject(new Error('there are no trees')),
    enqueueDue: () => Promise.reject(new Error('there are no schedules')),
  });
  await clock.advance(60_000);
  expect([messages, worker.status().isReady]).toEqual([['the queue cannot be read: out of order'], false]);
  isBroken = false;
  await clock.advance(20_000);
  expect([messages, worker.status().isReady]).toEqual([['the queue cannot be read: out of order', 'the queue can be read again'], true]);
  await worker.stop();
});
