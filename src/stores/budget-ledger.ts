// What a draw changes in the ledger of shared budgets. Pure: a store reads the budgets and rows under a lock, and writes the changes in the same transaction.
//
//  1. `spent` and `reserved` of a row are absolute. The sum of `spent` over the periods of a run is what the run reported last.
//  2. A draw reserves what it needs in every budget, or only what its calls in flight have.
//  3. A period's sums change by exactly what its rows change.
import { type Amount, type BudgetDefinition, BudgetDefinition as BudgetSchema, type BudgetState } from '../contract/budget.ts';
import { RetinueError } from '../contract/error.ts';
import type { BudgetRefusal, DrawRequest, DrawResult, OpenDraw } from '../ports/budgets.ts';
import { type Period, periodAt } from './budget-period.ts';

/** Whole tokens and whole billionths of a dollar, because sums of fractions drift. */
export interface Use {
  spentTokens: number;
  spentNanos: number;
  reservedTokens: number;
  reservedNanos: number;
}

/** What one run, with everything below it, has drawn from one budget in one period. */
export interface DrawRow extends Use {
  budget: string;
  period: string;
  runId: string;
  rootId: string;
  stamp: string;
}

/** A changed row, and what it adds to the sums of its period. */
export interface DrawChange {
  row: DrawRow;
  added: Use;
}

export interface LedgerView {
  definitions: BudgetDefinition[];
  /** The sums of a period of a budget; absent if nothing was drawn. */
  sums(budget: string, period: string): Use | undefined;
  /** All rows of the run. */
  rows: DrawRow[];
  now: number;
  stamp: string;
}

export const noUse: Use = { spentTokens: 0, spentNanos: 0, reservedTokens: 0, reservedNanos: 0 };
const useKeys = Object.keys(noUse) as (keyof Use)[];
const nanosPerUsd = 1e9;
/** A reservation is used within this time, or renewed. Shorter than the silence after which an owner counts as dead. */
const validMs = 5_000;
/** What is reserved in advance is at most this part of what is left. */
const aheadShare = 1 / 4;

interface Dimension {
  spent: 'spentTokens' | 'spentNanos';
  reserved: 'reservedTokens' | 'reservedNanos';
  cause: BudgetRefusal['cause'];
  limit(definition: BudgetDefinition): number | null;
  of(amount: Amount): number;
}

const dimensions: Dimension[] = [
  { spent: 'spentTokens', reserved: 'reservedTokens', cause: 'max_tokens', limit: ({ tokens }) => tokens, of: ({ tokens }) => tokens },
  {
    spent: 'spentNanos',
    reserved: 'reservedNanos',
    cause: 'max_cost',
    limit: ({ costUsd }) => (costUsd === null ? null : usdToNanos(costUsd)),
    of: ({ costUsd }) => usdToNanos(costUsd),
  },
];

/** The part of a draw that concerns one budget. */
interface Share {
  definition: BudgetDefinition;
  period: Period;
  /** Rows of this run and budget. */
  rows: DrawRow[];
  others: Use;
  /** Spent by this run in this period. */
  own: Record<Dimension['spent'], number>;
  /** What is left beside what was spent and what others have reserved, for each dimension; null if unlimited. */
  left: (number | null)[];
}

export function planDraw(request: DrawRequest, view: LedgerView): { result: DrawResult; changes: DrawChange[] } {
  const shares = view.definitions.map((definition) => createShare(definition, request, view));
  const refusal = shares.map((share) => findRefusal(share, request, view.now)).find((each) => each !== null);
  const isShort = shares.some(({ left }) =>
    dimensions.some(({ of }, i) => of(request.need) > 0 && isBelow(left[i], of(request.open) + of(request.need))),
  );
  const total = { tokens: null as number | null, costUsd: null as number | null };
  const extra = dimensions.map((dimension, i) => (refusal || isShort ? 0 : computeExtra(dimension, request, shares, i)));
  const reserved = dimensions.map(({ of }, i) => of(request.open) + (refusal || isShort ? 0 : of(request.need)) + (extra[i] as number));
  const changes = shares.flatMap((share) => changeRows(share, reserved, request, view));
  if (refusal) return { result: { ok: false, reason: 'spent', refusal }, changes };
  if (isShort) return { result: { ok: false, reason: 'reserved' }, changes };
  if (shares.some(({ definition }) => definition.tokens !== null)) total.tokens = request.spent.tokens + (reserved[0] as number);
  if (shares.some(({ definition }) => definition.costUsd !== null))
    total.costUsd = (usdToNanos(request.spent.costUsd) + (reserved[1] as number)) / nanosPerUsd;
  const ends = shares.flatMap(({ period }) => (period.endsAt === null ? [] : [period.endsAt - view.now]));
  return { result: { ok: true, allowed: total, validMs: Math.min(validMs, ...ends) }, changes };
}

function createShare(definition: BudgetDefinition, request: DrawRequest, view: LedgerView): Share {
  const period = periodAt(definition, view.now);
  const rows = view.rows.filter(({ budget }) => budget === definition.name);
  const current = rows.find((row) => row.period === period.key) ?? noUse;
  const sums = view.sums(definition.name, period.key) ?? noUse;
  const others = subtractUse(sums, current);
  const earlier = rows.filter((row) => row.period !== period.key);
  const ownSpent = ({ spent, of }: Dimension) => Math.max(0, of(request.spent) - earlier.reduce((sum, row) => sum + row[spent], 0));
  const [tokens, nanos] = dimensions.map(ownSpent) as [number, number];
  const own = { spentTokens: tokens, spentNanos: nanos };
  const left = dimensions.map((dimension) => {
    const limit = dimension.limit(definition);
    return limit === null ? null : limit - others[dimension.spent] - others[dimension.reserved] - own[dimension.spent];
  });
  return { definition, period, rows, others, own, left };
}

/** A call that does not fit beside what was spent. Without a call nothing is refused. */
function findRefusal({ definition, period, others, own }: Share, request: DrawRequest, now: number): BudgetRefusal | null {
  for (const { spent, cause, limit, of } of dimensions) {
    const max = limit(definition);
    if (max === null || of(request.need) === 0 || others[spent] + own[spent] + of(request.need) <= max) continue;
    return {
      budget: definition.name,
      cause,
      whenExceeded: definition.whenExceeded,
      resetMs: period.endsAt === null ? null : Math.max(1, period.endsAt - now),
    };
  }
  return null;
}

function computeExtra({ of }: Dimension, { open, need, ahead }: DrawRequest, shares: Share[], i: number): number {
  const rest = shares.flatMap(({ left }) => (left[i] == null ? [] : [(left[i] as number) - of(open) - of(need)]));
  return Math.max(0, Math.floor(Math.min(of(ahead), ...rest.map((each) => each * aheadShare))));
}

/** The row of this period, and those of earlier periods that still have a reservation. */
function changeRows({ definition, period, rows, own }: Share, reserved: number[], request: DrawRequest, view: LedgerView): DrawChange[] {
  const { runId, rootId } = request;
  const { stamp } = view;
  const [reservedTokens = 0, reservedNanos = 0] = reserved;
  const old = rows.find((row) => row.period === period.key);
  const current = { budget: definition.name, period: period.key, runId, rootId, stamp, ...own, reservedTokens, reservedNanos };
  const earlier = rows.filter((row) => row.period !== period.key && hasReservation(row));
  return [
    { row: current, added: subtractUse(current, old ?? noUse) },
    ...earlier.map((row) => changeRow(row, { reservedTokens: 0, reservedNanos: 0 })),
  ];
}

/** What settling changes. `rows`: all of the run. Empty if the run has drawn since. */
export function planSettle({ stamp }: OpenDraw, spent: Amount, rows: DrawRow[]): DrawChange[] {
  const open = rows.filter((row) => row.stamp === stamp && hasReservation(row));
  return open.map((row) => {
    const others = rows.filter((other) => other.budget === row.budget && other.period !== row.period);
    const own = ({ spent: key, of }: Dimension) => Math.max(0, of(spent) - others.reduce((sum, other) => sum + other[key], 0));
    const [spentTokens = 0, spentNanos = 0] = dimensions.map(own);
    return changeRow(row, { spentTokens, spentNanos, reservedTokens: 0, reservedNanos: 0 });
  });
}

export function describeBudget(definition: BudgetDefinition, period: Period, use: Use): BudgetState {
  return {
    ...definition,
    spent: { tokens: use.spentTokens, costUsd: use.spentNanos / nanosPerUsd },
    reserved: { tokens: use.reservedTokens, costUsd: use.reservedNanos / nanosPerUsd },
    resetsAt: period.endsAt === null ? null : new Date(period.endsAt).toISOString(),
  };
}

/** Throws `store_corrupt` for a definition that this program has not written. */
export function parseDefinition(text: string): BudgetDefinition {
  try {
    return BudgetSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new RetinueError('store_corrupt', 'a budget in the database is damaged; define it again with `retinue budget set`', {
      cause: error,
    });
  }
}

export function addUse(a: Use, b: Use): Use {
  return Object.fromEntries(useKeys.map((key) => [key, a[key] + b[key]])) as unknown as Use;
}

export function hasReservation(row: Use): boolean {
  return row.reservedTokens > 0 || row.reservedNanos > 0;
}

function changeRow(row: DrawRow, change: Partial<Use>): DrawChange {
  const changed = { ...row, ...change };
  return { row: changed, added: subtractUse(changed, row) };
}

function subtractUse(a: Use, b: Use): Use {
  return Object.fromEntries(useKeys.map((key) => [key, a[key] - b[key]])) as unknown as Use;
}

function isBelow(left: number | null | undefined, needed: number): boolean {
  return left != null && left < needed;
}

function usdToNanos(usd: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.round(usd * nanosPerUsd));
}
