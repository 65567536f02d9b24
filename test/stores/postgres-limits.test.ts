// Budgets and limits of providers on a server, in processes whose clocks are wrong.
import { afterEach, expect, it, vi } from 'vitest';
import { createPlace } from './support/postgres.ts';
import { createRunId, createUnit } from './support/units.ts';

const minutes = 60_000;
const root = createRunId(1);
const zero = { tokens: 0, costUsd: 0 };
const calls = { open: 0, waiting: 1, nextTokens: 0, tokens: 0 };
const none = { requests: 0, tokens: 0 };

afterEach(() => vi.restoreAllMocks());

/** Moves the wall clock of this process. */
function skewClock(ms: number): void {
  const { now } = Date;
  vi.spyOn(Date, 'now').mockImplementation(() => now() + ms);
}

it.each([-5, 5])('a back-off lasts as long for a process whose clock is %i minutes off', async (skew) => {
  const place = await createPlace();
  const [store, other] = [await place.open(), await place.open()];
  await store.limits.exchange('k', { owner: 'a', rate: {}, unused: none, calls, report: { kind: 'refused', blockedMs: 30_000, inRow: 1 } });
  skewClock(skew * minutes);
  const { blockedMs, isOpen } = await other.limits.exchange('k', { owner: 'b', rate: {}, unused: none, calls });
  expect(isOpen).toBe(false);
  expect(blockedMs).toBeGreaterThan(10_000);
  expect(blockedMs).toBeLessThanOrEqual(30_000);
});

it.each([-5, 5])('the period of a budget is the same for a process whose clock is %i minutes off', async (skew) => {
  const place = await createPlace();
  const { store, owner } = await place.openOwner();
  await store.append(owner, [createUnit(root, root, 1)]);
  await store.budgets.set({ name: 'team', tokens: 10, costUsd: null, per: 'month', timezone: 'UTC', whenExceeded: 'pause' });
  const draw = { rootId: root, runId: root, budgets: ['team'], spent: { tokens: 10, costUsd: 0 }, open: zero, ahead: zero };
  const need = { tokens: 1, costUsd: 0 };
  const before = await store.budgets.draw(owner, { ...draw, need });
  skewClock(skew * minutes);
  const after = await store.budgets.draw(owner, { ...draw, need });
  if (before.ok || before.reason !== 'spent' || after.ok || after.reason !== 'spent') throw new Error('not refused');
  const passed = (before.refusal.resetMs as number) - (after.refusal.resetMs as number);
  expect(passed).toBeGreaterThanOrEqual(0);
  expect(passed).toBeLessThan(2 * minutes);
});

it('a damaged budget is named as such, and does not stop others', async () => {
  const place = await createPlace();
  const { store } = await place.openOwner();
  await store.budgets.set({ name: 'team', tokens: 10, costUsd: null, per: 'month', timezone: 'UTC', whenExceeded: 'pause' });
  await place.sql("UPDATE $s.budgets SET text = '{}'");
  await expect(store.budgets.list()).rejects.toMatchObject({
    code: 'store_corrupt',
    message: expect.stringContaining('retinue budget set'),
  });
  await store.budgets.set({ name: 'team', tokens: 10, costUsd: null, per: 'month', timezone: 'UTC', whenExceeded: 'pause' });
  expect(await store.budgets.list()).toHaveLength(1);
});
