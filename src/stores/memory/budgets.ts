// The ledger of shared budgets in memory.
import type { BudgetDefinition } from '../../contract/budget.ts';
import type { Budgets } from '../../ports/budgets.ts';
import type { Owner } from '../../ports/store.ts';
import {
  addUse,
  type DrawChange,
  type DrawRow,
  describeBudget,
  hasReservation,
  noUse,
  planDraw,
  planSettle,
  type Use,
} from '../budget-ledger.ts';
import { periodAt } from '../budget-period.ts';

export interface MemoryLedger {
  definitions: Map<string, BudgetDefinition>;
  rows: Map<string, DrawRow>;
  sums: Map<string, Use>;
  stamps: number;
}

export function createMemoryLedger(): MemoryLedger {
  return { definitions: new Map(), rows: new Map(), sums: new Map(), stamps: 0 };
}

export interface MemoryBudgetDeps {
  ledger: MemoryLedger;
  isOwner(owner: Owner, rootId: string): boolean;
  /** Milliseconds since the epoch. */
  now(): number;
  assertOpen(): void;
}

const sumKey = (budget: string, period: string) => JSON.stringify([budget, period]);

export function createMemoryBudgets({ ledger, isOwner, now, assertOpen }: MemoryBudgetDeps): Budgets {
  const { definitions, rows, sums } = ledger;
  const rowsOf = (runId: string) => [...rows.values()].filter((row) => row.runId === runId);

  function apply(changes: DrawChange[]): void {
    for (const { row, added } of changes) {
      rows.set(JSON.stringify([row.runId, row.budget, row.period]), row);
      const key = sumKey(row.budget, row.period);
      sums.set(key, addUse(sums.get(key) ?? noUse, added));
    }
  }

  return {
    async list() {
      assertOpen();
      return [...definitions.values()]
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .map((definition) => {
          const period = periodAt(definition, now());
          return describeBudget(definition, period, sums.get(sumKey(definition.name, period.key)) ?? noUse);
        });
    },
    async set(definition) {
      assertOpen();
      definitions.set(definition.name, { ...definition });
    },
    async remove(name) {
      assertOpen();
      for (const [key, { budget }] of rows) if (budget === name) rows.delete(key);
      for (const key of sums.keys()) if (JSON.parse(key)[0] === name) sums.delete(key);
      return definitions.delete(name);
    },
    async draw(owner, request) {
      assertOpen();
      if (!isOwner(owner, request.rootId)) return { ok: false, reason: 'fenced' };
      const { result, changes } = planDraw(request, {
        definitions: request.budgets.flatMap((name) => definitions.get(name) ?? []),
        sums: (budget, period) => sums.get(sumKey(budget, period)),
        rows: rowsOf(request.runId),
        now: now(),
        stamp: String(++ledger.stamps),
      });
      apply(changes);
      return result;
    },
    async openDraws() {
      assertOpen();
      const open = [...rows.values()].filter(hasReservation);
      return open.map(({ rootId, runId, stamp }) => ({ rootId, runId, stamp }));
    },
    async settle(draw, spent) {
      assertOpen();
      apply(planSettle(draw, spent, rowsOf(draw.runId)));
    },
  };
}
