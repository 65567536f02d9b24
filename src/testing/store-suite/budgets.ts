// `budgets`: what runs spend and reserve, over all processes, within limits.
import { describe, expect, it } from 'vitest';
import type { Amount, BudgetDefinition } from '../../contract/budget.ts';
import type { DrawRequest } from '../../ports/budgets.ts';
import { a, b, c, createRootUnit, type GetContext } from './fixtures.ts';

const tokens = (count: number): Amount => ({ tokens: count, costUsd: 0 });
const zero = tokens(0);

function createBudget(overrides: Partial<BudgetDefinition> = {}): BudgetDefinition {
  return { name: 'team', tokens: 100, costUsd: null, per: 'total', timezone: 'UTC', whenExceeded: 'pause', ...overrides };
}

function createDraw(runId: string, overrides: Partial<DrawRequest> = {}): DrawRequest {
  return { rootId: runId, runId, budgets: ['team'], spent: zero, open: zero, need: zero, ahead: zero, ...overrides };
}

export function testBudgets(getContext: GetContext): void {
  describe('budgets', () => {
    it('are defined, changed, listed by name and removed, in all processes', async () => {
      const { harness, store } = getContext();
      const other = await harness.open();
      await store.budgets.set(createBudget({ name: 'b', per: 'day', timezone: 'Asia/Tokyo' }));
      await store.budgets.set(createBudget({ name: 'a' }));
      await other.budgets.set(createBudget({ name: 'a', costUsd: 2.5 }));
      const use = { spent: zero, reserved: zero };
      expect(await other.budgets.list()).toEqual([
        { ...createBudget({ name: 'a', costUsd: 2.5 }), ...use, resetsAt: null },
        { ...createBudget({ name: 'b', per: 'day', timezone: 'Asia/Tokyo' }), ...use, resetsAt: expect.stringMatching(/T15:00:00.000Z$/) },
      ]);
      expect(await store.budgets.remove('a')).toBe(true);
      expect(await other.budgets.remove('a')).toBe(false);
      expect((await other.budgets.list()).map(({ name }) => name)).toEqual(['b']);
    });

    it('give what a call needs, and less in advance if little is left', async () => {
      const { store, owner } = getContext();
      await store.append(owner, [createRootUnit(a), createRootUnit(b)]);
      await store.budgets.set(createBudget());
      const first = await store.budgets.draw(owner, createDraw(a, { need: tokens(20), ahead: tokens(160) }));
      expect(first).toEqual({ ok: true, allowed: { tokens: 40, costUsd: null }, validMs: 5_000 });
      const second = await store.budgets.draw(owner, createDraw(b, { need: tokens(50), ahead: tokens(4) }));
      expect(second).toMatchObject({ ok: true, allowed: { tokens: 52 } });
      expect(await store.budgets.list()).toMatchObject([{ spent: zero, reserved: tokens(92) }]);
    });

    it('keep only the calls in flight of a run whose next call does not fit beside the reservations of others', async () => {
      const { store, owner } = getContext();
      await store.append(owner, [createRootUnit(a), createRootUnit(b)]);
      await store.budgets.set(createBudget());
      await store.budgets.draw(owner, createDraw(a, { need: tokens(60) }));
      await store.budgets.draw(owner, createDraw(b, { need: tokens(20) }));
      const short = await store.budgets.draw(owner, createDraw(b, { open: tokens(20), need: tokens(30) }));
      expect(short).toEqual({ ok: false, reason: 'reserved' });
      expect(await store.budgets.list()).toMatchObject([{ reserved: tokens(80) }]);
      await store.budgets.draw(owner, createDraw(a, { spent: tokens(10) }));
      const later = await store.budgets.draw(owner, createDraw(b, { open: tokens(20), need: tokens(30) }));
      expect(later).toMatchObject({ ok: true, allowed: { tokens: 50 } });
      expect(await store.budgets.list()).toMatchObject([{ spent: tokens(10), reserved: tokens(50) }]);
    });

    it('refuse a call that does not fit beside what was spent, and reserve nothing in any other budget', async () => {
      const { store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      await store.budgets.set(createBudget({ whenExceeded: 'refuse' }));
      await store.budgets.set(createBudget({ name: 'wide', tokens: null, costUsd: 1, per: 'month' }));
      const draw = createDraw(a, { budgets: ['team', 'wide'], spent: { tokens: 90, costUsd: 0.9 }, need: { tokens: 11, costUsd: 0.1 } });
      expect(await store.budgets.draw(owner, draw)).toEqual({
        ok: false,
        reason: 'spent',
        refusal: { budget: 'team', cause: 'max_tokens', whenExceeded: 'refuse', resetMs: null },
      });
      const dear = { ...draw, need: { tokens: 10, costUsd: 0.100000001 } };
      expect(await store.budgets.draw(owner, dear)).toMatchObject({
        ok: false,
        refusal: { budget: 'wide', cause: 'max_cost', resetMs: expect.any(Number) },
      });
      expect(await store.budgets.list()).toMatchObject([
        { spent: { tokens: 90, costUsd: 0.9 }, reserved: zero },
        { spent: { tokens: 90, costUsd: 0.9 }, reserved: zero },
      ]);
      expect(await store.budgets.draw(owner, { ...draw, need: { tokens: 10, costUsd: 0.1 } })).toMatchObject({ ok: true });
    });

    it('count absolute values: a repeated report changes nothing, and a budget that does not exist limits nothing', async () => {
      const { store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      await store.budgets.set(createBudget());
      const draw = createDraw(a, { budgets: ['team', 'gone'], spent: tokens(30), open: tokens(5) });
      for (let i = 0; i < 3; i++) expect(await store.budgets.draw(owner, draw)).toMatchObject({ ok: true });
      expect(await store.budgets.list()).toMatchObject([{ spent: tokens(30), reserved: tokens(5) }]);
      const unlimited = await store.budgets.draw(owner, createDraw(a, { budgets: ['gone'], need: tokens(1_000_000) }));
      expect(unlimited).toMatchObject({ ok: true, allowed: { tokens: null, costUsd: null } });
    });

    it.each(['kill', 'silence'] as const)('refuse draws of a process that lost its tree by %s, and take the new report', async (end) => {
      const { harness, store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      await store.budgets.set(createBudget());
      await store.budgets.draw(owner, createDraw(a, { spent: tokens(30), need: tokens(40) }));
      await harness[end](owner);
      const other = await harness.open();
      const successor = await other.open();
      await other.claim(successor, a);
      expect(await other.budgets.draw(successor, createDraw(a, { spent: tokens(20) }))).toMatchObject({ ok: true });
      expect(await store.budgets.draw(owner, createDraw(a, { spent: tokens(60) }))).toEqual({ ok: false, reason: 'fenced' });
      expect(await store.budgets.list()).toMatchObject([{ spent: tokens(20), reserved: zero }]);
    });

    it('settle a reservation only if its run has not drawn since', async () => {
      const { store, owner } = getContext();
      await store.append(owner, [createRootUnit(a), createRootUnit(b), createRootUnit(c)]);
      await store.budgets.set(createBudget());
      for (const runId of [a, b]) await store.budgets.draw(owner, createDraw(runId, { need: tokens(20) }));
      await store.budgets.draw(owner, createDraw(c, { spent: tokens(1) }));
      const open = await store.budgets.openDraws();
      expect(open.map(({ runId }) => runId).sort()).toEqual([a, b]);
      await store.budgets.draw(owner, createDraw(b, { spent: tokens(5), need: tokens(10) }));
      for (const draw of open) await store.budgets.settle(draw, tokens(7));
      for (const draw of open) await store.budgets.settle(draw, tokens(50));
      expect(await store.budgets.list()).toMatchObject([{ spent: tokens(1 + 7 + 5), reserved: tokens(10) }]);
    });

    it('hold while many owners draw at once', async () => {
      const { harness, store } = getContext();
      await store.budgets.set(createBudget({ tokens: 1_000 }));
      const stores = [store, await harness.open(), await harness.open()];
      const ids = Array.from({ length: 12 }, (_, n) => (100 + n).toString(16).padStart(16, '0'));
      const granted = await Promise.all(
        ids.map(async (runId, n) => {
          const own = stores[n % stores.length] as typeof store;
          const owner = await own.open();
          await own.append(owner, [createRootUnit(runId)]);
          let spent = 0;
          for (let call = 0; call < 12; call++) {
            const drawn = await own.budgets.draw(owner, createDraw(runId, { spent: tokens(spent), need: tokens(10), ahead: tokens(30) }));
            if (!drawn.ok) continue;
            spent += 10;
          }
          await own.budgets.draw(owner, createDraw(runId, { spent: tokens(spent) }));
          return spent;
        }),
      );
      const total = granted.reduce((sum, each) => sum + each, 0);
      expect(total).toBeLessThanOrEqual(1_000);
      expect(await store.budgets.list()).toMatchObject([{ spent: tokens(total), reserved: zero }]);
    });
  });
}
