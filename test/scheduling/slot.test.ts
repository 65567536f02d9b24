import { expect, test, vi } from 'vitest';
import { createScheduler } from '../../src/scheduling/scheduler.ts';
import { createSlotKeeper } from '../../src/scheduling/slot.ts';

const keeper = (scheduler = createScheduler({ slots: 1, maxQueued: 10 }), stop = new AbortController(), limit = 1) =>
  createSlotKeeper(scheduler, { rootId: 'r', parentId: 'p', limit, signal: stop.signal });

test('a run begins with its first slot, and keeps it', async () => {
  const scheduler = createScheduler({ slots: 1, maxQueued: 10 });
  const [first, second] = [keeper(scheduler), keeper(scheduler)];
  const start = vi.fn();
  first.begin(start);
  second.begin(start);
  await Promise.resolve();
  expect(start).toHaveBeenCalledTimes(1);
  expect(await first.ensure()).toBe(true);
  expect(scheduler.stats()).toMatchObject({ active: 1, queued: 1 });
  first.release();
  await Promise.resolve();
  expect(start).toHaveBeenCalledTimes(2);
  second.release();
  expect(scheduler.stats()).toEqual({ active: 0, queued: 0, trees: 0 });
});

test('a run that is stopped while it waits begins without a slot, and leaves the queue', async () => {
  const scheduler = createScheduler({ slots: 1, maxQueued: 10 });
  const first = keeper(scheduler);
  first.begin(() => {});
  const stop = new AbortController();
  const second = keeper(scheduler, stop);
  const start = vi.fn();
  second.begin(start);
  stop.abort();
  second.stop();
  await Promise.resolve();
  expect(start).toHaveBeenCalledTimes(1);
  expect(await second.ensure()).toBe(false);
  first.release();
  expect(scheduler.stats()).toEqual({ active: 0, queued: 0, trees: 0 });
});

test('a run whose parent allows no child begins, and gets the error', async () => {
  const none = keeper(undefined, undefined, 0);
  const start = vi.fn();
  none.begin(start);
  await Promise.resolve();
  expect(start).toHaveBeenCalledTimes(1);
  await expect(none.ensure()).rejects.toMatchObject({ code: 'invalid_limit' });
});
