/**
 * Budgets: what a tree may still spend, node under node. A call is paid for in advance with an estimate and settled with what
 * it took. It does not price anything and does not stop runs; it only says no.
 *
 *  1. A call begins only if, on its node and on every node above, spent + reserved + estimate + headroom is within the limit.
 *  2. So what a tree spends never passes its limit by more than the calls in flight took beyond their estimates.
 *  3. Whoever does not fit only because of what others hold in reserve waits, first come, first served in the tree; with
 *     nothing reserved nobody waits. Whoever does not fit beside what is spent is refused at once.
 *  4. Each reservation is settled once; with none open, nothing is reserved.
 *  5. An amount that is no amount (not finite, negative) never counts as less than the estimate.
 */
import { RetinueError } from '../contract/error.ts';

/** `costUsd` is 0 where the price is not known. */
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
  /** A refusal is a value. Rejects only for an estimate that is no amount. */
  reserve(estimate: Amount, options: ReserveOptions): Promise<Reservation>;
  /** Spending that is known from facts when a run is resumed. */
  charge(actual: Amount): void;
  spent(): Amount;
  reserved(): Amount;
  /** The tightest of this node and those above; reservations are not taken off, as they may come back. Null: no limit. */
  left(): { tokens: number | null; costUsd: number | null };
}

/** Whole tokens and whole billionths of a dollar: sums of fractions drift. */
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

interface Want {
  node: Node;
  estimate: Units;
  headroom: Units;
}

interface Waiter extends Want {
  signal: AbortSignal;
  resolve(reservation: Reservation): void;
  cancel(): void;
}

const causes = { tokens: 'max_tokens', nanos: 'max_cost' } as const;
const dimensions = ['tokens', 'nanos'] as const;
const nanosPerUsd = 1e9;
const aborted: Reservation = { ok: false, cause: 'aborted' };

export function createBudget(limit: BudgetLimit): Budget {
  return budgetOf(nodeOf(null, limit), new Set());
}

function budgetOf(node: Node, waiters: Set<Waiter>): Budget {
  async function reserve(estimate: Amount, { headroom, signal }: ReserveOptions): Promise<Reservation> {
    if (signal.aborted) return aborted;
    const want = { node, estimate: unitsOf(estimate), headroom: unitsOf(headroom) };
    const refusal = misfit(want, 'spent');
    if (refusal !== null) return { ok: false, cause: refusal };
    const { promise, resolve } = Promise.withResolvers<Reservation>();
    const waiter: Waiter = { ...want, signal, resolve, cancel };
    function cancel(): void {
      answer(waiter, aborted);
      pump();
    }
    waiters.add(waiter);
    signal.addEventListener('abort', cancel, { once: true });
    pump();
    return promise;
  }

  function answer(waiter: Waiter, reservation: Reservation): void {
    waiters.delete(waiter);
    waiter.signal.removeEventListener('abort', waiter.cancel);
    waiter.resolve(reservation);
  }

  /** Looks at those that wait, in order, up to the first that has to go on waiting (invariant 3). */
  function pump(): void {
    for (const waiter of waiters) {
      const refusal = misfit(waiter, 'spent');
      if (waiter.signal.aborted) answer(waiter, aborted);
      else if (refusal !== null) answer(waiter, { ok: false, cause: refusal });
      else if (misfit(waiter, 'spent and reserved') !== null) return;
      else answer(waiter, grant(waiter));
    }
  }

  function grant({ node: from, estimate }: Want): Reservation {
    add(from, 'reserved', estimate);
    let open = true;
    return {
      ok: true,
      settle(actual) {
        if (!open) return;
        open = false;
        add(from, 'reserved', { tokens: -estimate.tokens, nanos: -estimate.nanos });
        add(from, 'spent', unitsOf(actual, estimate));
        pump();
      },
    };
  }

  return {
    child: (limit) => budgetOf(nodeOf(node, limit), waiters),
    reserve,
    charge(actual) {
      add(node, 'spent', unitsOf(actual));
      pump();
    },
    spent: () => amountOf(node.spent),
    reserved: () => amountOf(node.reserved),
    left() {
      const nanos = leftOf(node, 'nanos');
      return { tokens: leftOf(node, 'tokens'), costUsd: nanos === null ? null : nanos / nanosPerUsd };
    },
  };
}

function nodeOf(parent: Node | null, { maxTokens, maxCostUsd }: BudgetLimit): Node {
  const limit = { tokens: maxTokens, nanos: maxCostUsd === null ? null : Math.round(maxCostUsd * nanosPerUsd) };
  return { parent, limit, spent: { tokens: 0, nanos: 0 }, reserved: { tokens: 0, nanos: 0 } };
}

/** The first limit, from the node upwards, that the call does not fit into. */
function misfit({ node, estimate, headroom }: Want, beside: 'spent' | 'spent and reserved'): 'max_tokens' | 'max_cost' | null {
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

function leftOf(node: Node, key: keyof Units): number | null {
  let least: number | null = null;
  for (let at: Node | null = node; at !== null; at = at.parent) {
    const limit = at.limit[key];
    if (limit !== null) least = Math.min(least ?? limit, Math.max(0, limit - at.spent[key]));
  }
  return least;
}

/** What is no amount is replaced by the estimate; an estimate that is none is misuse. */
function unitsOf({ tokens, costUsd }: Amount, estimate?: Units): Units {
  return { tokens: whole(tokens, estimate?.tokens), nanos: whole(costUsd * nanosPerUsd, estimate?.nanos) };
}

function whole(value: number, instead: number | undefined): number {
  if (value >= 0 && value < Number.POSITIVE_INFINITY) return Math.min(Math.round(value), Number.MAX_SAFE_INTEGER);
  if (instead !== undefined) return instead;
  throw new RetinueError('internal', `${value} is no amount of tokens or money`);
}

function amountOf({ tokens, nanos }: Units): Amount {
  return { tokens, costUsd: nanos / nanosPerUsd };
}
