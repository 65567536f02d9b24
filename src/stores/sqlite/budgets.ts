// The ledger of shared budgets in a SQLite file. All times are those of the machine that the processes share.
import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { BudgetState } from '../../contract/budget.ts';
import type { Budgets, OpenDraw } from '../../ports/budgets.ts';
import { type DrawChange, type DrawRow, describeBudget, noUse, parseDefinition, planDraw, planSettle, type Use } from '../budget-ledger.ts';
import { periodAt } from '../budget-period.ts';
import { budgetsVersion, getUserVersion } from './migrations.ts';
import type { Writer } from './writer.ts';

export interface BudgetDeps {
  db: DatabaseSync;
  writer: Writer;
  read<T>(query: () => Promise<T>): Promise<T>;
  /** Milliseconds since the epoch. */
  now(): number;
}

const useColumns =
  'spent_tokens AS spentTokens, spent_nanos AS spentNanos, reserved_tokens AS reservedTokens, reserved_nanos AS reservedNanos';
const isOpen = '(reserved_tokens > 0 OR reserved_nanos > 0)';

export function createBudgets({ db, writer, read, now }: BudgetDeps): Budgets {
  const selectBudget = db.prepare('SELECT text FROM budgets WHERE name = ?');
  const upsertBudget = db.prepare('INSERT INTO budgets (name, text) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET text = excluded.text');
  const selectOwner = db.prepare('SELECT 1 FROM trees JOIN owners ON owners.id = trees.owner WHERE trees.root = ? AND owners.id = ?');
  const selectSums = db.prepare(`SELECT ${useColumns} FROM budget_sums WHERE budget = ? AND period = ?`);
  const selectRows = db.prepare(
    `SELECT run AS runId, root AS rootId, budget, period, stamp, ${useColumns} FROM budget_draws WHERE run = ?`,
  );
  const upsertRow = db.prepare(
    `INSERT INTO budget_draws (run, budget, period, root, stamp, spent_tokens, spent_nanos, reserved_tokens, reserved_nanos)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (run, budget, period) DO UPDATE SET stamp = excluded.stamp, spent_tokens = excluded.spent_tokens,
        spent_nanos = excluded.spent_nanos, reserved_tokens = excluded.reserved_tokens, reserved_nanos = excluded.reserved_nanos`,
  );
  const addToSums = db.prepare(
    `INSERT INTO budget_sums (budget, period, spent_tokens, spent_nanos, reserved_tokens, reserved_nanos) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (budget, period) DO UPDATE SET
        spent_tokens = spent_tokens + excluded.spent_tokens, spent_nanos = spent_nanos + excluded.spent_nanos,
        reserved_tokens = reserved_tokens + excluded.reserved_tokens, reserved_nanos = reserved_nanos + excluded.reserved_nanos`,
  );
  const sums = (budget: string, period: string) => selectSums.get(budget, period) as unknown as Use | undefined;
  const rowsOf = (runId: string) => selectRows.all(runId) as unknown as DrawRow[];

  function apply(changes: DrawChange[]): void {
    for (const { row, added } of changes) {
      const { runId, budget, period, rootId, stamp } = row;
      upsertRow.run(runId, budget, period, rootId, stamp, row.spentTokens, row.spentNanos, row.reservedTokens, row.reservedNanos);
      addToSums.run(budget, period, added.spentTokens, added.spentNanos, added.reservedTokens, added.reservedNanos);
    }
  }

  return {
    list: () => read(async () => listBudgets(db, now())),
    set: (definition) => writer.write(() => void upsertBudget.run(definition.name, JSON.stringify(definition))),
    remove: (name) =>
      writer.write(() => {
        db.prepare('DELETE FROM budget_draws WHERE budget = ?').run(name);
        db.prepare('DELETE FROM budget_sums WHERE budget = ?').run(name);
        return Number(db.prepare('DELETE FROM budgets WHERE name = ?').run(name).changes) > 0;
      }),
    draw: (owner, request) =>
      writer.write(() => {
        if (selectOwner.get(request.rootId, owner.id) === undefined) return { ok: false, reason: 'fenced' };
        const texts = request.budgets.flatMap((name) => (selectBudget.get(name)?.text as string | undefined) ?? []);
        const stamp = randomBytes(8).toString('hex');
        const view = { definitions: texts.map(parseDefinition), sums, rows: rowsOf(request.runId), now: now(), stamp };
        const { result, changes } = planDraw(request, view);
        apply(changes);
        return result;
      }),
    openDraws: () =>
      read(async () => {
        const rows = db.prepare(`SELECT DISTINCT root AS rootId, run AS runId, stamp FROM budget_draws WHERE ${isOpen}`).all();
        return rows.map((row) => ({ ...row }) as unknown as OpenDraw);
      }),
    settle: (draw, spent) => writer.write(() => apply(planSettle(draw, spent, rowsOf(draw.runId)))),
  };
}

/** Only reads. None in a database of an earlier version. */
export function listBudgets(db: DatabaseSync, now: number): BudgetState[] {
  if (getUserVersion(db) < budgetsVersion) return [];
  const selectSums = db.prepare(`SELECT ${useColumns} FROM budget_sums WHERE budget = ? AND period = ?`);
  const texts = db.prepare('SELECT text FROM budgets ORDER BY name').all() as { text: string }[];
  return texts.map(({ text }) => {
    const definition = parseDefinition(text);
    const period = periodAt(definition, now);
    return describeBudget(definition, period, (selectSums.get(definition.name, period.key) as unknown as Use | undefined) ?? noUse);
  });
}
