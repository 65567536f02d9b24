// Two workers want the same tree: the lease decides, and nobody disturbs the one that has it.
import { describe, expect, it } from 'vitest';
import type { Job, Queue } from '../../src/ports/queue.ts';
import { createPlace } from '../stores/support/postgres.ts';
import { createGateClock } from '../support/gate-clock.ts';
import { enqueue, expectAllEnded, openTestApi, startTestWorker } from './support.ts';

const script = { runs: [{ times: 'any' as const, steps: [{ delayMs: 1, text: 'done' }] }] };

/** Resolves for all when `count` callers have come. */
function createBarrier(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let come = 0;
  return () => {
    if (++come === count) resolve();
    return promise;
  };
}

describe('two workers', () => {
  it('that find the tree of a dead one at once: one takes it over, the other leaves it alone', { timeout: 120_000 }, async () => {
    const place = await createPlace();
    const [first, second] = [await place.open(), await place.open()];
    const api = await openTestApi(first);
    const rootId = await enqueue(api);
    // A worker has taken it, claimed it and died.
    const gone = await place.open();
    const owner = await gone.open(['q']);
    await gone.queue?.take({ queue: 'q', limit: 1 });
    await gone.claim(owner, rootId);
    await gone.close();
    await place.sql("UPDATE $s.owners SET beat = beat - interval '1 minute' WHERE id = $1", [owner.id]);
    const meet = createBarrier(2);
    const scriptClock = createGateClock();
    const workers = [
      await startTestWorker({ store: first, script, scriptClock, beforeOpen: meet }),
      await startTestWorker({ store: second, script, scriptClock, beforeOpen: meet }),
    ];
    const countTaken = () => workers.reduce((sum, { count }) => sum + count('tree.taken'), 0);
    // The tree does not end before the other worker has tried to take it.
    await expect.poll(() => [countTaken(), workers.flatMap(({ worker }) => worker.status().trees)]).toEqual([1, [rootId]]);
    scriptClock.open();
    await expectAllEnded(first, [rootId]);
    expect(workers.map(({ count }) => count('tree.taken')).sort()).toEqual([0, 1]);
    expect(workers.map(({ count }) => count('tree.put_back') + count('problem') + count('tree.lost'))).toEqual([0, 0]);
    await expect.poll(() => workers.flatMap(({ worker }) => worker.status().trees)).toEqual([]);
  });

  it('of which one gets the job while the other drives the tree: it puts the job back, and there is one outcome', {
    timeout: 120_000,
  }, async () => {
    const place = await createPlace();
    const [first, second] = [await place.open(), await place.open()];
    const api = await openTestApi(first);
    const scriptClock = createGateClock();
    const driver = await startTestWorker({ store: first, script, scriptClock });
    const rootId = await enqueue(api);
    await expect.poll(() => driver.count('tree.taken')).toBe(1);
    // As if the job had not been touched in time.
    await place.sql("UPDATE $s_queue.job SET state = 'retry' WHERE data ->> 'root' = $1", [rootId]);
    const other = await startTestWorker({ store: second, script, scriptClock });
    await expect.poll(() => other.count('tree.put_back')).toBe(1);
    scriptClock.open();
    await expectAllEnded(first, [rootId]);
    expect(other.count('tree.taken')).toBe(0);
    const jobs = await place.sql<{ state: string }>("SELECT state FROM $s_queue.job WHERE data ->> 'root' = $1", [rootId]);
    expect(new Set(jobs.map(({ state }) => state))).toEqual(new Set(['completed']));
  });

  it('take each of many jobs once, however many ask at the same time', { timeout: 120_000 }, async () => {
    const place = await createPlace();
    const queues = [(await place.open()).queue, (await place.open()).queue] as Queue[];
    const api = await openTestApi(await place.open());
    const rootIds = await Promise.all(Array.from({ length: 40 }, () => enqueue(api)));
    const takes = Array.from({ length: 10 }, () => queues.map((queue) => queue.take({ queue: 'q', limit: 5 }) as Promise<Job[]>));
    const taken = (await Promise.all(takes.flat())).flat().map((job) => job.rootId);
    expect(taken.sort()).toEqual([...rootIds].sort());
  });
});
