// The queue of a store: trees that want a worker.
import { describe, expect, it } from 'vitest';
import type { Job, JobOptions, Queue } from '../../ports/queue.ts';
import type { Store } from '../../ports/store.ts';
import {
  a,
  accepted,
  at,
  b,
  c,
  createFacts,
  createHash,
  createId,
  createOrder,
  createRootUnit,
  createRow,
  createUnit,
  type GetContext,
} from './fixtures.ts';

const [d] = [createId(13)];
const far = '2999-01-01T00:00:00.000Z';

export function testQueue(getContext: GetContext): void {
  const getQueue = ({ queue }: Store): Queue => {
    if (!queue) throw new Error('the store has no queue');
    return queue;
  };
  const enqueue = (rootId: string, job: Partial<JobOptions> = {}) => {
    const { store, owner } = getContext();
    return store.append(owner, [{ ...createRootUnit(rootId, { status: 'queued' }), job: { queue: 'q', ...job } }]);
  };
  const takeJobs = async (limit: number, more: { perGroup?: number; perQueue?: number } = {}) =>
    (await getQueue(getContext().store).take({ queue: 'q', limit, ...more })) as Job[];
  const take = async (limit = 10, more: { perGroup?: number; perQueue?: number } = {}) =>
    (await takeJobs(limit, more)).map(({ rootId }) => rootId).sort();

  describe('queue', () => {
    it('creates a tree without an owner, with its job; a worker takes it once', async () => {
      const { store, owner } = getContext();
      const queue = getQueue(store);
      expect(await enqueue(a)).toEqual([accepted]);
      expect(await store.holders([a])).toEqual(new Map([[a, null]]));
      expect(await queue.findTrees([a, b])).toEqual(new Map([[a, { queue: 'q', hasJob: true, hasOrders: false }]]));
      expect([await queue.isOf(a), await queue.isOf(b)]).toEqual([true, false]);
      expect(await store.append(owner, [createUnit(a, { facts: createFacts(a, 2) })])).toMatchObject([{ ok: false, reason: 'fenced' }]);
      const [job] = await takeJobs(5);
      expect(job).toMatchObject({ rootId: a, queue: 'q' });
      expect(await take()).toEqual([]);
      expect(await store.claim(owner, a)).toEqual({ ok: true, previous: null });
      expect(await store.append(owner, [createUnit(a, { facts: createFacts(a, 2) })])).toEqual([accepted]);
      expect((await queue.findTrees([a])).get(a)?.hasJob).toBe(true);
      await queue.touch(job ? [job] : []);
      await store.releaseTree(owner, a);
      if (job) await queue.complete(job);
      expect((await queue.findTrees([a])).get(a)?.hasJob).toBe(false);
    });

    it('writes neither the tree nor the job if the unit is refused', async () => {
      const { store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      expect(await enqueue(a)).toMatchObject([{ ok: false }]);
      expect(await take()).toEqual([]);
    });

    it('gives the highest priority first, then the oldest, and nothing before its time', async () => {
      await enqueue(a);
      await enqueue(b, { priority: 5 });
      await enqueue(c, { startAfter: far, priority: 9 });
      await enqueue(d);
      expect(await take(2)).toEqual([a, b]);
      expect(await take(2)).toEqual([d]);
      const [state] = await getQueue(getContext().store).states();
      expect(state).toMatchObject({ name: 'q', waiting: 0, delayed: 1, running: 3, oldestMs: null });
    });

    it('runs only so many trees of a group at a time', async () => {
      for (const rootId of [a, b, c]) await enqueue(rootId, { group: 'customer' });
      await enqueue(d);
      expect(await take(10, { perGroup: 1 })).toEqual([a, d]);
      expect(await take(10, { perGroup: 1 })).toEqual([]);
      expect(await take(10, { perGroup: 2 })).toEqual([b]);
    });

    it('runs only so many trees of a queue at a time', async () => {
      for (const rootId of [a, b, c]) await enqueue(rootId);
      await enqueue(d, { queue: 'other' });
      expect(await getQueue(getContext().store).findWaiting(['other', 'empty', 'q'])).toEqual(new Set(['other', 'q']));
      const [first] = await takeJobs(10, { perQueue: 1 });
      expect(first).toMatchObject({ rootId: a });
      expect(await take(10, { perQueue: 1 })).toEqual([]);
      expect(await take(10, { perQueue: 2 })).toEqual([b]);
      if (first) await getQueue(getContext().store).complete(first);
      expect(await take(10, { perQueue: 2 })).toEqual([c]);
      expect(await getQueue(getContext().store).findWaiting(['other', 'q'])).toEqual(new Set(['other']));
    });

    it('takes a job that was put back again, and a new one that replaces it', async () => {
      const { store } = getContext();
      const queue = getQueue(store);
      await enqueue(a);
      const [first] = await takeJobs(1);
      if (!first) throw new Error('nothing was taken');
      await queue.putBack(first, 0, 'no model here');
      expect(await queue.states()).toMatchObject([{ waiting: 1, running: 0, problems: [{ rootId: a, problem: 'no model here' }] }]);
      const [again] = await takeJobs(1);
      if (!again) throw new Error('it was not put back');
      await queue.complete(again, { startAfter: '2020-01-01T00:00:00.000Z' });
      expect(await take()).toEqual([a]);
      expect(await queue.findOrphans(['other', 'q'], 10)).toEqual([]);
    });

    it('does not count trees that a command has ended', async () => {
      const { store, owner } = getContext();
      await enqueue(a);
      await enqueue(b);
      await store.claim(owner, a);
      const ended = createRow(a, { status: 'cancelled', endedAt: at, lastSeq: 2, lastHash: createHash(2) });
      expect(await store.append(owner, [createUnit(a, { facts: createFacts(a, 2), rows: [ended] })])).toEqual([accepted]);
      expect(await getQueue(store).states()).toMatchObject([{ name: 'q', waiting: 1, delayed: 0, running: 0 }]);
      expect(await take()).toEqual([a, b]);
      expect(await getQueue(store).states()).toMatchObject([{ waiting: 0, running: 1 }]);
    });

    it('finds trees whose worker died, and no others', async () => {
      const { harness, store, owner } = getContext();
      const worker = await harness.open();
      const workerOwner = await worker.open(['q']);
      await enqueue(a);
      await enqueue(b);
      await take(1);
      await worker.claim(workerOwner, a);
      await worker.append(workerOwner, [createUnit(a, { facts: createFacts(a, 2) })]);
      expect(await getQueue(store).findOrphans(['other', 'q'], 10)).toEqual([]);
      expect(await getQueue(store).workers()).toMatchObject([{ queues: ['q'], trees: 1, alive: true }]);
      await harness.kill(workerOwner);
      expect(await getQueue(store).findOrphans(['other', 'q'], 10)).toMatchObject([{ rootId: a }]);
      expect(await store.claim(owner, a)).toEqual({ ok: true, previous: workerOwner.id });
      expect(await getQueue(store).findOrphans(['other', 'q'], 10)).toEqual([]);
    });

    it('gives a tree that no process drives a job when an order wakes it', async () => {
      const { store, owner } = getContext();
      const queue = getQueue(store);
      await enqueue(a, { startAfter: far });
      await store.order(createOrder(1, a));
      expect(await take()).toEqual([]);
      const [job] = await takeJobs(1);
      expect(job).toBeUndefined();
      await enqueue(b);
      const [own] = await takeJobs(1);
      if (!own) throw new Error('nothing was taken');
      await store.claim(owner, b);
      const order = createOrder(2, b);
      await store.order(order);
      expect((await queue.findTrees([b])).get(b)).toEqual({ queue: 'q', hasJob: true, hasOrders: true });
      expect(await take()).toEqual([]);
      await store.dropOrders(owner, [order.id]);
      await store.releaseTree(owner, b);
      await queue.complete(own);
      expect((await queue.findTrees([b])).get(b)).toEqual({ queue: 'q', hasJob: false, hasOrders: false });
      await store.order(createOrder(3, b));
      await store.order(createOrder(4, b));
      expect(await take()).toEqual([b]);
    });

    it('keeps a job for a tree that a process drives, so that it is found if that process dies', async () => {
      const { store, owner } = getContext();
      const queue = getQueue(store);
      const hasJob = async () => (await queue.findTrees([a])).get(a)?.hasJob;
      await enqueue(a);
      const [job] = await takeJobs(1);
      if (!job) throw new Error('nothing was taken');
      await store.claim(owner, a);
      await store.releaseTree(owner, a);
      // Another process is first, and then the job of the one before is completed.
      const second = await store.open(['q']);
      await store.claim(second, a);
      await queue.complete(job);
      expect(await hasJob()).toBe(true);
      const [next] = await takeJobs(1);
      if (!next) throw new Error('nothing was taken');
      await store.releaseTree(second, a);
      await queue.complete(next);
      expect(await hasJob()).toBe(false);
      // A process that saw the tree before it came to rest takes it late, and dies.
      await store.claim(second, a);
      expect(await hasJob()).toBe(true);
      await store.release(second);
      expect(await queue.findOrphans(['q'], 10)).toMatchObject([{ rootId: a, queue: 'q' }]);
    });

    it('brings the delayed job of a tree that rests forward when an order wakes it', async () => {
      const { store, owner } = getContext();
      const queue = getQueue(store);
      await enqueue(a, { priority: 3 });
      const [job] = await takeJobs(1);
      if (!job) throw new Error('nothing was taken');
      await store.claim(owner, a);
      await store.append(owner, [createUnit(a, { facts: createFacts(a, 2), rows: [createRow(a, { status: 'paused' })] })]);
      await store.releaseTree(owner, a);
      await queue.complete(job, { startAfter: far });
      expect(await take()).toEqual([]);
      await store.order({ ...createOrder(9, a), kind: 'compact' });
      expect((await queue.findTrees([a])).get(a)).toEqual({ queue: 'q', hasJob: true, hasOrders: false });
      expect(await queue.states()).toMatchObject([{ waiting: 0, delayed: 1, running: 0 }]);
      await store.order(createOrder(1, a));
      await store.order(createOrder(2, a));
      expect(await queue.states()).toMatchObject([{ waiting: 1, delayed: 0, running: 0 }]);
      const [again, ...others] = await takeJobs(10);
      if (!again) throw new Error('it was not woken');
      expect([again.rootId, others]).toEqual([a, []]);
      await queue.complete(again, { startAfter: far });
      expect(await take()).toEqual([a]);
    });

    it('gives a completed tree a new job if an order came before', async () => {
      const { store, owner } = getContext();
      const queue = getQueue(store);
      await enqueue(a);
      const [job] = await takeJobs(1);
      if (!job) throw new Error('nothing was taken');
      await store.claim(owner, a);
      await store.releaseTree(owner, a);
      await store.order(createOrder(1, a));
      await queue.complete(job);
      expect(await take()).toEqual([a]);
    });

    it('gives a completed tree no new job for a compaction, which waits for its next turn', async () => {
      const { store, owner } = getContext();
      const queue = getQueue(store);
      await enqueue(a);
      const [job] = await takeJobs(1);
      if (!job) throw new Error('nothing was taken');
      await store.claim(owner, a);
      await store.releaseTree(owner, a);
      await store.order({ ...createOrder(1, a), kind: 'compact' });
      await queue.complete(job);
      expect(await take()).toEqual([]);
    });

    it('wakes workers of the queue', async () => {
      const { harness } = getContext();
      const worker = await harness.open();
      let calls = 0;
      const end = getQueue(worker).watch('q', () => calls++);
      await expect
        .poll(async () => {
          await enqueue(createId(100 + calls));
          return calls;
        })
        .toBeGreaterThan(0);
      end();
    });
  });
}

/** For a store without a queue. */
export function testMissingQueue(getContext: GetContext): void {
  it('refuses trees that want a worker', async () => {
    const { store, owner } = getContext();
    expect(store.queue).toBeUndefined();
    await expect(store.append(owner, [{ ...createRootUnit(a), job: { queue: 'q' } }])).rejects.toMatchObject({ code: 'usage' });
    expect(await store.run(a)).toBeNull();
  });
}
