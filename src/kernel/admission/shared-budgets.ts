// Shared budgets of runs: which ones a run draws from, its part of them, and the reservations that dead processes left behind.
import type { Amount, BudgetState } from '../../contract/budget.ts';
import { RetinueError } from '../../contract/error.ts';
import type { RunRow } from '../../contract/run.ts';
import type { Budgets } from '../../ports/budgets.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Owner, Store } from '../../ports/store.ts';
import type { Deadlines } from '../../scheduling/deadlines.ts';
import { createSharedBudget } from '../../scheduling/shared-budget.ts';
import { unknownNameMessage } from '../../text/suggest.ts';
import type { Run, RunDeps } from '../run.ts';
import type { Services } from '../services.ts';

export interface AdmittedBudgets {
  /** Those that no ancestor draws from. */
  budgets: string[];
  /** One with a limit in dollars, an ancestor's included; null if there is none. */
  costBudget: string | null;
}

export interface BudgetAdmissionDeps {
  settings: Pick<Services['settings'], 'budgets'>;
  store: { budgets: Pick<Budgets, 'list'> };
}

/** The budgets of a new run: a root has those of the settings too. Throws `unknown_budget` and `budget_exceeded`. */
export async function admitBudgets(
  named: readonly string[] = [],
  parent: Run | null,
  { settings, store }: BudgetAdmissionDeps,
): Promise<AdmittedBudgets> {
  const inherited = new Set<string>();
  for (let at = parent; at !== null; at = at.parent) for (const name of at.grant.budgets ?? []) inherited.add(name);
  const wanted = new Set([...(parent === null ? (settings.budgets ?? []) : []), ...named]);
  const budgets = [...wanted].filter((name) => !inherited.has(name)).sort();
  if (budgets.length + inherited.size === 0) return { budgets, costBudget: null };
  const known = await store.budgets.list();
  const names = known.map(({ name }) => name);
  const unknown = budgets.find((name) => !names.includes(name));
  if (unknown !== undefined) throw unknownBudgetError(unknown, names);
  const drawn = known.filter(({ name }) => inherited.has(name) || wanted.has(name));
  const exceeded = drawn.find((budget) => budget.whenExceeded === 'refuse' && isUsedUp(budget));
  if (exceeded) throw budgetExceededError(exceeded);
  return { budgets, costBudget: drawn.find(({ costUsd }) => costUsd !== null)?.name ?? null };
}

function unknownBudgetError(name: string, known: string[]): RetinueError {
  const advice = known.length === 0 ? `no budget \`${name}\` is defined` : unknownNameMessage('budget', name, known);
  return new RetinueError('unknown_budget', `${advice}; define it with \`retinue budget set ${name}\``);
}

function isUsedUp({ tokens, costUsd, spent }: BudgetState): boolean {
  return (tokens !== null && spent.tokens >= tokens) || (costUsd !== null && spent.costUsd >= costUsd);
}

function budgetExceededError({ name, per, resetsAt }: BudgetState): RetinueError {
  const period = per === 'total' ? '' : ` for this ${per}`;
  const advice = `raise it with \`retinue budget set ${name}\`${resetsAt === null ? '' : `, or wait until ${resetsAt}`}`;
  return new RetinueError('budget_exceeded', `the budget ${name} is used up${period}: ${advice}`, { retryable: resetsAt !== null });
}

export interface SharingDeps {
  store: Store;
  owner: Owner;
  clock: Clock;
  deadlines: Deadlines;
  ids: Ids;
}

/** Creates a run's part of the budgets that its grant names. */
export function createBudgetSharing({ store, owner, clock, deadlines, ids }: SharingDeps): RunDeps['shareBudgets'] {
  return ({ runId, created }) => {
    const { rootId, grant } = created.data;
    const { budgets = [] } = grant;
    if (budgets.length === 0) return null;
    return createSharedBudget({
      async draw(use) {
        const request = { rootId, runId, budgets, ...use };
        const result = await store.budgets.draw(owner, request);
        if (result.ok || result.reason !== 'reserved') return result;
        // Others may be dead.
        return (await settleAbandonedDraws(store)) > 0 ? store.budgets.draw(owner, request) : result;
      },
      clock,
      deadlines,
      random: () => ids.random(),
    });
  };
}

/** Returns the reservations of trees that no living process drives; what their runs have spent is taken from their rows. Resolves to their number. */
export async function settleAbandonedDraws(store: Store): Promise<number> {
  const open = await store.budgets.openDraws();
  const holders = await store.holders([...new Set(open.map(({ rootId }) => rootId))]);
  const abandoned = open.filter(({ rootId }) => holders.get(rootId)?.alive !== true);
  for (const draw of abandoned) await store.budgets.settle(draw, sumSpending(draw.runId, await store.runs({ rootId: draw.rootId })));
  return abandoned.length;
}

/** What a run and everything below it have spent. A row includes the children that have ended. */
function sumSpending(runId: string, rows: RunRow[]): Amount {
  const own = rows.find((row) => row.runId === runId);
  const live = rows.filter((row) => row.parentId === runId && row.endedAt === null).map((row) => sumSpending(row.runId, rows));
  return live.reduce((sum, { tokens, costUsd }) => ({ tokens: sum.tokens + tokens, costUsd: sum.costUsd + costUsd }), {
    tokens: own ? own.tokens.input + own.tokens.output : 0,
    costUsd: own?.costUsd ?? 0,
  });
}
