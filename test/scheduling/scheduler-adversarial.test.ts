import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createScheduler, type Scheduler, type Slot, type SlotRequest } from '../../src/scheduling/scheduler.ts';
import { startCpuTimer } from '../support/cpu-time.ts';

const nothing = { active: 0, queued: 0, trees: 0 };
const live = () => new AbortController().signal;
const root = (rootId: string, signal = live()): SlotRequest => ({ rootId, parentId: null, limit: 1, signal });
const child = (parentId: string, signal = live()): SlotRequest => ({ rootId: 'r', parentId, limit: 1_000, signal });

async function full(slots = 1): Promise<{ scheduler: Scheduler; slot: Slot }> {
  const scheduler = createScheduler({ slots, maxQueued: 1_000_000 });
  return { scheduler, slot: (await scheduler.acquire(root('first')))! };
}

describe('races between grant and abort', () => {
  test('Q5: aborted before the request', async () => {
    const scheduler = createScheduler({ slots: 1, maxQueued: 1 });
    expect(await scheduler.acquire(root('r', AbortSignal.abort()))).toBeNull();
    expect(scheduler.stats()).toEqual(nothing);
  });

  test('Q5: the slot is released by another listener of the same abort', async () => {
    const { scheduler, slot } = await full();
    const stop = new AbortController();
    // Registered first, so it runs before the request's own listener.
    stop.signal.addEventListener('abort', () => slot.release());
    const queued = scheduler.acquire(root('r', stop.signal));
    stop.abort();
    expect(await queued).toBeNull();
    expect(scheduler.stats()).toEqual(nothing);
  });

  test('Q5: one abort stops a whole subtree while its members release slots', async () => {
    const parent = new AbortController();
    const scheduler = createScheduler({ slots: 2, maxQueued: 100 });
    let started = 0;
    const work = Array.from({ length: 20 }, async (_, index) => {
      const signal = AbortSignal.any([parent.signal]);
      const slot = await scheduler.acquire(child(`p${index % 3}`, signal));
      if (slot === null) return;
      started++;
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          slot.release();
          resolve();
        });
      });
    });
    await Promise.resolve();
    parent.abort();
    await Promise.all(work);
    expect(started).toBe(2);
    expect(scheduler.stats()).toEqual(nothing);
  });

  test('Q5: an abort after the grant leaves the slot with its holder', async () => {
    const { scheduler, slot } = await full();
    const stop = new AbortController();
    const queued = scheduler.acquire(root('r', stop.signal));
    slot.release();
    stop.abort();
    const granted = await queued;
    expect(granted).not.toBeNull();
    expect(scheduler.stats()).toMatchObject({ active: 1 });
    granted?.release();
    expect(scheduler.stats()).toEqual(nothing);
  });

  test('Q2: releasing a slot twice counts once', async () => {
    const { scheduler, slot } = await full(2);
    const other = (await scheduler.acquire(root('other')))!;
    slot.release();
    slot.release();
    expect(scheduler.stats()).toMatchObject({ active: 1 });
    other.release();
    expect(scheduler.stats()).toEqual(nothing);
  });

  test('Q2: a first request with a smaller limit blocks its parent; cancelling it admits the next', async () => {
    const { scheduler, slot } = await full(3);
    const running = (await scheduler.acquire({ ...child('p'), limit: 3 }))!;
    const stop = new AbortController();
    const strict = scheduler.acquire({ ...child('p', stop.signal), limit: 1 });
    const behind = scheduler.acquire({ ...child('p'), limit: 3 });
    expect(scheduler.stats()).toMatchObject({ active: 2, queued: 2 });
    stop.abort();
    expect(await strict).toBeNull();
    for (const one of [await behind, running, slot]) one?.release();
    expect(scheduler.stats()).toEqual(nothing);
  });

  test('a granted or cancelled request leaves no listener', async () => {
    const { scheduler, slot } = await full();
    const stops = [new AbortController(), new AbortController()] as const;
    const queued = stops.map((stop) => scheduler.acquire(root('r', stop.signal)));
    stops[1].abort();
    slot.release();
    (await queued[0])?.release();
    for (const stop of stops) expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });
});

// An implementation that scans the queue at each step would need 10^10 steps here. The test timeout cannot interrupt a loop of
// microtasks, so the loops check the time themselves.
function inTime(computedMs: () => number, step: number): void {
  if (step % 1_000 === 0) expect(computedMs()).toBeLessThan(30_000);
}

describe('Q6: large numbers', () => {
  async function drain(scheduler: Scheduler, queued: Promise<Slot | null>[], first: Slot): Promise<number> {
    first.release();
    let granted = 0;
    const computedMs = startCpuTimer();
    for (const [index, one] of queued.entries()) {
      inTime(computedMs, index);
      const slot = await one;
      if (slot !== null) granted++;
      slot?.release();
    }
    expect(scheduler.stats()).toEqual(nothing);
    return granted;
  }

  test('100,000 requests of one parent, every second one cancelled from the middle outwards', { timeout: 60_000 }, async () => {
    const { scheduler, slot } = await full();
    const stops = Array.from({ length: 100_000 }, () => new AbortController());
    const queued = stops.map((stop) => scheduler.acquire(child('p', stop.signal)));
    for (let i = 0; i < 50_000; i++) stops[50_000 + (i % 2 === 0 ? i : -i - 1)]!.abort();
    const left = scheduler.stats().queued;
    expect(await drain(scheduler, queued, slot)).toBe(left);
  });

  test('100,000 trees take turns, each with two requests', { timeout: 60_000 }, async () => {
    const { scheduler, slot } = await full();
    const order: number[] = [];
    const queued = Array.from({ length: 200_000 }, (_, index) =>
      scheduler.acquire({ ...root(`t${index >> 1}`) }).then((got) => {
        order.push(index);
        return got;
      }),
    );
    slot.release();
    const computedMs = startCpuTimer();
    for (let at = 0; at < 200_000; at++) {
      inTime(computedMs, at);
      while (order.length <= at) await Promise.resolve();
      (await queued[order[at]!])?.release();
    }
    expect(order.slice(0, 100_000)).toEqual(Array.from({ length: 100_000 }, (_, index) => index * 2));
    expect(scheduler.stats()).toEqual(nothing);
  });

  test('100,000 trees in sequence, and 100,000 cancelled while queued, leave nothing behind', { timeout: 60_000 }, async () => {
    const { scheduler, slot } = await full(2);
    for (let i = 0; i < 100_000; i++) (await scheduler.acquire(root(`t${i}`)))?.release();
    expect(scheduler.stats().trees).toBe(1);
    const second = (await scheduler.acquire(root('second')))!;
    for (let i = 0; i < 100_000; i++) {
      const stop = new AbortController();
      const queued = scheduler.acquire(root(`q${i}`, stop.signal));
      stop.abort();
      await queued;
    }
    expect(scheduler.stats()).toEqual({ active: 2, queued: 0, trees: 2 });
    second.release();
    slot.release();
    expect(scheduler.stats()).toEqual(nothing);
  });

  test('Q3: children that had a slot before go before new ones, in order', async () => {
    const { scheduler, slot } = await full();
    const order: string[] = [];
    for (const [name, front] of [
      ['new1', false],
      ['back1', true],
      ['new2', false],
      ['back2', true],
    ] as const) {
      void scheduler.acquire({ ...child('p'), front }).then((got) => {
        order.push(name);
        got?.release();
      });
    }
    slot.release();
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    expect(order).toEqual(['back1', 'back2', 'new1', 'new2']);
  });
});
