// The periods of budgets, and the ledger when a period ends.
import { describe, expect, it } from 'vitest';
import type { BudgetDefinition } from '../../src/contract/budget.ts';
import { periodAt } from '../../src/stores/budget-period.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { createRootUnit } from '../../src/testing/store-suite/fixtures.ts';

const at = (iso: string) => Date.parse(iso);
const endOf = (per: 'day' | 'month', timezone: string, iso: string) => {
  const { key, endsAt } = periodAt({ per, timezone }, at(iso));
  return `${key} ${new Date(endsAt as number).toISOString()}`;
};

describe('a period', () => {
  it.each([
    ['day', 'UTC', '2026-11-17T23:59:59.999Z', '2026-11-17 2026-11-18T00:00:00.000Z'],
    ['day', 'UTC', '2026-11-18T00:00:00.000Z', '2026-11-18 2026-11-19T00:00:00.000Z'],
    ['day', 'Asia/Kolkata', '2026-11-17T18:30:00.000Z', '2026-11-18 2026-11-18T18:30:00.000Z'],
    ['month', 'UTC', '2028-02-29T12:00:00.000Z', '2028-02 2028-03-01T00:00:00.000Z'],
    ['month', 'Europe/Berlin', '2026-12-31T22:59:59.000Z', '2026-12 2026-12-31T23:00:00.000Z'],
    // 23 and 25 hours, and a day that begins at 1 o'clock.
    ['day', 'Europe/Berlin', '2026-03-28T23:00:00.000Z', '2026-03-29 2026-03-29T22:00:00.000Z'],
    ['day', 'Europe/Berlin', '2026-10-24T22:00:00.000Z', '2026-10-25 2026-10-25T23:00:00.000Z'],
    ['day', 'America/Santiago', '2026-09-05T12:00:00.000Z', '2026-09-05 2026-09-06T04:00:00.000Z'],
  ] as const)('of a %s in %s at %s', (per, timezone, now, expected) => {
    expect(endOf(per, timezone, now)).toBe(expected);
  });
});

describe('the end of a period', () => {
  const definition: BudgetDefinition = { name: 'team', tokens: 100, costUsd: null, per: 'day', timezone: 'UTC', whenExceeded: 'pause' };
  const root = '00000000000000aa';
  const draw = (spent: number, need: number, open = 0) => ({
    ...{ rootId: root, runId: root, budgets: ['team'] },
    ...{ spent: { tokens: spent, costUsd: 0 }, need: { tokens: need, costUsd: 0 } },
    ...{ open: { tokens: open, costUsd: 0 }, ahead: { tokens: 0, costUsd: 0 } },
  });

  it('ends reservations, and the new period gets only what was spent since', async () => {
    const clock = createHandClock({ now: at('2026-11-17T23:59:58.000Z') });
    const store = createMemoryStore({ clock });
    const owner = await store.open();
    await store.append(owner, [createRootUnit(root)]);
    await store.budgets.set(definition);
    expect(await store.budgets.draw(owner, draw(70, 30))).toMatchObject({ ok: true, validMs: 2_000 });
    expect(await store.budgets.draw(owner, draw(100, 1))).toMatchObject({ ok: false, refusal: { resetMs: 2_000 } });
    await clock.advance(2_000);
    expect(await store.budgets.draw(owner, draw(100, 90))).toMatchObject({ ok: true, allowed: { tokens: 190 } });
    expect(await store.budgets.list()).toMatchObject([
      { spent: { tokens: 0 }, reserved: { tokens: 90 }, resetsAt: '2026-11-19T00:00:00.000Z' },
    ]);
    await store.budgets.draw(owner, draw(130, 0));
    expect(await store.budgets.list()).toMatchObject([{ spent: { tokens: 30 }, reserved: { tokens: 0 } }]);
    await store.close();
  });

  it('counts an abandoned run in the period of its reservation', async () => {
    const clock = createHandClock({ now: at('2026-11-17T12:00:00.000Z') });
    const store = createMemoryStore({ clock });
    const owner = await store.open();
    await store.append(owner, [createRootUnit(root)]);
    await store.budgets.set(definition);
    await store.budgets.draw(owner, draw(40, 0));
    await clock.advance(86_400_000);
    await store.budgets.draw(owner, draw(50, 20));
    const [open] = await store.budgets.openDraws();
    await store.budgets.settle(open!, { tokens: 55, costUsd: 0 });
    expect(await store.budgets.list()).toMatchObject([{ spent: { tokens: 15 }, reserved: { tokens: 0 } }]);
    await store.close();
  });
});
