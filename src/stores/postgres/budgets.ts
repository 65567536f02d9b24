// The ledger of shared budgets in a PostgreSQL database. A draw locks its budgets, so draws from one budget come one after another. All times are the
// database's.
import { randomBytes } from 'node:crypto';
import type { Budgets, OpenDraw } from '../../ports/budgets.ts';
import { type DrawChange, type DrawRow, describeBudget, noUse, parseDefinition, planDraw, planSettle, type Use } from '../budget-ledger.ts';
import { periodAt } from '../budget-period.ts';
import type { Connections } from './connections.ts';
import type { Query, Transaction } from './transaction.ts';

const useColumns =
  'spent_tokens AS "spentTokens", spent_nanos AS "spentNanos", reserved_tokens AS "reservedTokens", reserved_nanos AS "reservedNanos"';
const isOpen = '(reserved_tokens > 0 OR reserved_nanos > 0)';
const nowMs = '(extract(epoch from clock_timestamp()) * 1000)::double precision AS now';

type SumsRow = Use & { budget: string; period: string };

export function createBudgets(connections: Connections): Budgets {
  const { schema: s } = connections;

  const selectRows = (runId: string): Query => ({
    text: `SELECT run AS "runId", root AS "rootId", budget, period, stamp, ${useColumns} FROM ${s}.budget_draws WHERE run = $1`,
    values: [runId],
  });

  function apply(transaction: Transaction, changes: DrawChange[]): void {
    for (const { row, added } of changes) {
      const { runId, budget, period, rootId, stamp } = row;
      transaction.send({
        text: `INSERT INTO ${s}.budget_draws (run, budget, period, root, stamp, spent_tokens, spent_nanos, reserved_tokens, reserved_nanos)
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
          ON CONFLICT (run, budget, period) DO UPDATE SET stamp = excluded.stamp, spent_tokens = excluded.spent_tokens,
            spent_nanos = excluded.spent_nanos, reserved_tokens = excluded.reserved_tokens, reserved_nanos = excluded.reserved_nanos`,
        values: [runId, budget, period, rootId, stamp, row.spentTokens, row.spentNanos, row.reservedTokens, row.reservedNanos],
      });
      transaction.send({
        text: `INSERT INTO ${s}.budget_sums AS sums (budget, period, spent_tokens, spent_nanos, reserved_tokens, reserved_nanos)
          VALUES ($1, $2, $3, $4, $5, $6)
          ON CONFLICT (budget, period) DO UPDATE SET
            spent_tokens = sums.spent_tokens + excluded.spent_tokens, spent_nanos = sums.spent_nanos + excluded.spent_nanos,
            reserved_tokens = sums.reserved_tokens + excluded.reserved_tokens, reserved_nanos = sums.reserved_nanos + excluded.reserved_nanos`,
        values: [budget, period, added.spentTokens, added.spentNanos, added.reservedTokens, added.reservedNanos],
      });
    }
  }

  /** Locked in the order of their names. What follows in the transaction sees everything that earlier holders of the locks committed. */
  function lockBudgets(transaction: Transaction, names: string[]): Promise<{ text: string }[]> {
    return transaction.query({ text: `SELECT text FROM ${s}.budgets WHERE name = ANY($1) ORDER BY name FOR UPDATE`, values: [names] });
  }

  return {
    async list() {
      const [texts, sums, clock] = await Promise.all([
        connections.query<{ text: string }>({ text: `SELECT text FROM ${s}.budgets ORDER BY name` }),
        connections.query<SumsRow>({ text: `SELECT budget, period, ${useColumns} FROM ${s}.budget_sums` }),
        connections.query<{ now: number }>({ text: `SELECT ${nowMs}` }),
      ]);
      return texts.map(({ text }) => {
        const definition = parseDefinition(text);
        const period = periodAt(definition, Math.floor(clock[0]?.now ?? 0));
        const use = sums.find((row) => row.budget === definition.name && row.period === period.key);
        return describeBudget(definition, period, use ?? noUse);
      });
    },
    async set(definition) {
      await connections.query({
        text: `INSERT INTO ${s}.budgets (name, text) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET text = excluded.text`,
        values: [definition.name, JSON.stringify(definition)],
      });
    },
    async remove(name) {
      let wasFound = false;
      return connections.transact(async (transaction) => {
        // A repeated transaction may find that the first one was committed.
        wasFound = (await lockBudgets(transaction, [name])).length > 0 || wasFound;
        for (const table of ['budget_draws', 'budget_sums'])
          transaction.send({ text: `DELETE FROM ${s}.${table} WHERE budget = $1`, values: [name] });
        transaction.send({ text: `DELETE FROM ${s}.budgets WHERE name = $1`, values: [name] });
        return wasFound;
      });
    },
    async draw(owner, request) {
      const stamp = randomBytes(8).toString('hex');
      return connections.transact(async (transaction) => {
        const texts = await lockBudgets(transaction, request.budgets);
        const [owners, rows, sums, clock] = await Promise.all([
          transaction.query({
            text: `SELECT 1 FROM ${s}.trees JOIN ${s}.owners ON owners.id = trees.owner WHERE trees.root = $1 AND owners.id = $2`,
            values: [request.rootId, owner.id],
          }),
          transaction.query<DrawRow>(selectRows(request.runId)),
          transaction.query<SumsRow>({
            text: `SELECT budget, period, ${useColumns} FROM ${s}.budget_sums WHERE budget = ANY($1)`,
            values: [request.budgets],
          }),
          transaction.query<{ now: number }>({ text: `SELECT ${nowMs}` }),
        ]);
        if (owners.length === 0) return { ok: false, reason: 'fenced' } as const;
        const { result, changes } = planDraw(request, {
          definitions: texts.map(({ text }) => parseDefinition(text)),
          sums: (budget, period) => sums.find((row) => row.budget === budget && row.period === period),
          rows,
          now: Math.floor(clock[0]?.now ?? 0),
          stamp,
        });
        apply(transaction, changes);
        return result;
      });
    },
    openDraws: () =>
      connections.query<OpenDraw>({
        text: `SELECT DISTINCT root AS "rootId", run AS "runId", stamp FROM ${s}.budget_draws WHERE ${isOpen}`,
      }),
    async settle(draw, spent) {
      await connections.transact(async (transaction) => {
        const budgets = await transaction.query<{ budget: string }>({
          text: `SELECT DISTINCT budget FROM ${s}.budget_draws WHERE run = $1`,
          values: [draw.runId],
        });
        await lockBudgets(
          transaction,
          budgets.map(({ budget }) => budget),
        );
        apply(transaction, planSettle(draw, spent, await transaction.query<DrawRow>(selectRows(draw.runId))));
      });
    },
  };
}
