// Budgets: what the runs of a tree may still spend. A call reserves an estimate before it begins and is settled with the actual amount. A budget
// computes no prices and stops no runs; it only grants or refuses.
//
//  1. A call begins only if spent + reserved + estimate + headroom is within the limit, on its node and on every ancestor.
//  2. So a tree exceeds its limit at most by what the calls in flight took beyond their estimates.
//  3. A call that does not fit only because of open reservations waits, first come, first served within the tree; with nothing reserved,
//     nothing waits. A call that does not fit beside what is spent is refused at once.
//  4. Each reservation is settled once. Without open reservations, nothing is reserved.
//  5. An invalid amount (negative or not finite) counts as the estimate.
import { RetinueError } from '../contract/error.ts';

/** `costUsd` is 0 if the price is unknown. */
export interface Amount {
  tokens: number;
  costUsd: number;
}

export interface BudgetLimit {
  maxTokens: number | null;
  maxCostUsd: number | null;
}

export type Reservation = { ok: true; settle(actual: Amount): void } | { ok: false; cause: 'max_tokens' | 'max_cost' | 'aborted' };

export interface ReserveOptions {
  /** Kept free for the wrap-up call; zero for that call itself. */
  headroom: Amount;
  signal: AbortSignal;
}

export interface Budget {
  child(limit: BudgetLimit): Budget;
  /** A refusal is a value. Rejects only for an invalid estimate. */
  reserve(estimate: Amount, options: ReserveOptions): Promise<Reservation>;
  /** Adds spending that is known from facts when a run is resumed. */
  charge(actual: Amount): void;
  spent(): Amount;
  reserved(): Amount;
  /** What is left on this node and all ancestors. Reservations are not subtracted, because they may be released. Null: unlimited. */
  left(): { tokens: number | null; costUsd: number | null };
}

/** Whole tokens and whole billionths of a dollar, because sums of fractions drift. */
interface Units {
  tokens: number;
  nanos: number;
}

interface Node {
  parent: Node | null;
  limit: { [K in keyof Units]: number | null };
  spent: Units;
  reserved: Units;
}

interface ReserveRequest {
  node: Node;
  estimate: Units;
  headroom: Units;
}

interface Waiter extends ReserveRequest {
  signal: AbortSignal;
  resolve(reservation: Reservation): void;
  cancel(): void;
}

const causes = { tokens: 'max_tokens', nanos: 'max_cost' } as const;
const dimensions = ['tokens', 'nanos'] as const;
const nanosPerUsd = 1e9;
const aborted: Reservation = { ok: false, cause: 'aborted' };

export function createBudget(limit: BudgetLimit): Budget {
  return nodeToBudget(createNode(null, limit), new Set());
}

/** `waiters` are those of the whole tree. */
function nodeToBudget(node: Node, waiters: Set<Waiter>): Budget {
  async function reserve(estimate: Amount, { headroom, signal }: ReserveOptions): Promise<Reservation> {
    if (signal.aborted) return aborted;
    const request = { node, estimate: amountToUnits(estimate), headroom: amountToUnits(headroom) };
    const refusal = findExceeded(request, 'spent');
    if (refusal !== null) return { ok: false, cause: refusal };
    const { promise, resolve } = Promise.withResolvers<Reservation>();
    const waiter: Waiter = { ...request, signal, resolve, cancel };
    function cancel(): void {
      resolveWaiter(waiter, aborted);
      serveWaiters();
    }
    waiters.add(waiter);
    signal.addEventListener('abort', cancel, { once: true });
    serveWaiters();
    return promise;
  }

  function resolveWaiter(waiter: Waiter, reservation: Reservation): void {
    waiters.delete(waiter);
    waiter.signal.removeEventListener('abort', waiter.cancel);
    waiter.resolve(reservation);
  }

  /** Grants or refuses waiters in order, up to the first that must keep waiting (invariant 3). */
  function serveWaiters(): void {
    for (const waiter of waiters) {
      const refusal = findExceeded(waiter, 'spent');
      if (waiter.signal.aborted) resolveWaiter(waiter, aborted);
      else if (refusal !== null) resolveWaiter(waiter, { ok: false, cause: refusal });
      else if (findExceeded(waiter, 'spent and reserved') !== null) return;
      else resolveWaiter(waiter, grant(waiter));
    }
  }

  function grant({ node: from, estimate }: ReserveRequest): Reservation {
    add(from, 'reserved', estimate);
    let isOpen = true;
    return {
      ok: true,
      settle(actual) {
        if (!isOpen) return;
        isOpen = false;
        add(from, 'reserved', { tokens: -estimate.tokens, nanos: -estimate.nanos });
        add(from, 'spent', amountToUnits(actual, estimate));
        serveWaiters();
      },
    };
  }

  return {
    child: (limit) => nodeToBudget(createNode(node, limit), waiters),
    reserve,
    charge(actual) {
      add(node, 'spent', amountToUnits(actual));
      serveWaiters();
    },
    spent: () => unitsToAmount(node.spent),
    reserved: () => unitsToAmount(node.reserved),
    left() {
      const nanos = computeLeft(node, 'nanos');
      return { tokens: computeLeft(node, 'tokens'), costUsd: nanos === null ? null : nanos / nanosPerUsd };
    },
  };
}

function createNode(parent: Node | null, { maxTokens, maxCostUsd }: BudgetLimit): Node {
  const limit = { tokens: maxTokens, nanos: maxCostUsd === null ? null : Math.round(maxCostUsd * nanosPerUsd) };
  return { parent, limit, spent: { tokens: 0, nanos: 0 }, reserved: { tokens: 0, nanos: 0 } };
}

/** The first limit, from the node upwards, that the call would exceed. */
function findExceeded(
  { node, estimate, headroom }: ReserveRequest,
  beside: 'spent' | 'spent and reserved',
): 'max_tokens' | 'max_cost' | null {
  for (let at: Node | null = node; at !== null; at = at.parent) {
    for (const key of dimensions) {
      const taken = at.spent[key] + (beside === 'spent' ? 0 : at.reserved[key]);
      const limit = at.limit[key];
      if (limit !== null && !(taken + estimate[key] + headroom[key] <= limit)) return causes[key];
    }
  }
  return null;
}

function add(node: Node, to: 'spent' | 'reserved', amount: Units): void {
  for (let at: Node | null = node; at !== null; at = at.parent) for (const key of dimensions) at[to][key] += amount[key];
}

function computeLeft(node: Node, key: keyof Units): number | null {
  let least: number | null = null;
  for (let at: Node | null = node; at !== null; at = at.parent) {
    const limit = at.limit[key];
    if (limit !== null) least = Math.min(least ?? limit, Math.max(0, limit - at.spent[key]));
  }
  return least;
}

/** Invalid values are replaced by the estimate (invariant 5). An invalid estimate is misuse and throws. */
function amountToUnits({ tokens, costUsd }: Amount, estimate?: Units): Units {
  return { tokens: toWhole(tokens, estimate?.tokens), nanos: toWhole(costUsd * nanosPerUsd, estimate?.nanos) };
}

function toWhole(value: number, fallback: number | undefined): number {
  if (value >= 0 && value < Number.POSITIVE_INFINITY) return Math.min(Math.round(value), Number.MAX_SAFE_INTEGER);
  if (fallback !== undefined) return fallback;
  throw new RetinueError('internal', `${value} is not a valid amount of tokens or money`);
}

function unitsToAmount({ tokens, nanos }: Units): Amount {
  return { tokens, costUsd: nanos / nanosPerUsd };
}
