// Budgets: what the runs of a tree may still spend. A call reserves an estimate before it begins and is settled with the actual amount. A budget
// computes no prices and stops no runs; it only grants or refuses.
//
// B1. A call begins only if spent + reserved + estimate + headroom is within the limit, on its node and on every ancestor.
// B2. So a tree exceeds its limit at most by what the calls in flight took beyond their estimates.
// B3. A call that does not fit only because of open reservations waits, first come, first served within the tree; with nothing reserved,
//     nothing waits. A call that does not fit beside what is spent is refused at once.
// B4. Each reservation is settled once. Without open reservations, nothing is reserved.
// B5. An invalid amount (negative or not finite) counts as the estimate.
// B6. A call begins only if the budgets that the node and its ancestors share with other trees cover it (shared-budget.ts).
import type { Amount } from '../contract/budget.ts';
import { RetinueError } from '../contract/error.ts';
import type { BudgetRefusal } from '../ports/budgets.ts';
import type { StopSignal } from '../ports/stop.ts';
import type { ReadUse, SharedBudget } from './shared-budget.ts';

export type { Amount } from '../contract/budget.ts';

export interface BudgetLimit {
  maxTokens: number | null;
  maxCostUsd: number | null;
}

/** `shared`: the shared budget that refuses it. */
export type Reservation =
  | { ok: true; settle(actual: Amount): void }
  | { ok: false; cause: 'max_tokens' | 'max_cost' | 'aborted'; shared?: BudgetRefusal };

export interface ReserveOptions {
  /** Kept free for the wrap-up call; zero for that call itself. */
  headroom: Amount;
  signal: StopSignal;
}

export interface Budget {
  /** `shared`: draws for the child and everything below it. */
  child(limit: BudgetLimit, shared?: SharedBudget | null): Budget;
  /** A refusal is a value. Rejects only for an invalid estimate, or if a shared budget cannot be used. */
  reserve(estimate: Amount, options: ReserveOptions): Promise<Reservation>;
  /** Adds spending that is known from facts when a run is resumed. */
  charge(actual: Amount): void;
  spent(): Amount;
  reserved(): Amount;
  /** The remaining amount on this node and all ancestors. Reservations are not subtracted, because they may be released. Null: unlimited. */
  left(): { tokens: number | null; costUsd: number | null };
  /** Whether a limit in dollars applies, its own or a shared one. */
  limitsCost(): boolean;
  /** Returns what the node has reserved in shared budgets. Never rejects. */
  close(): Promise<void>;
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
  shared: SharedBudget | null;
}

interface ReserveRequest {
  node: Node;
  estimate: Units;
  headroom: Units;
}

interface Waiter extends ReserveRequest {
  signal: StopSignal;
  /** A shared budget is being asked for it. */
  isDrawing: boolean;
  resolve(reservation: Reservation | Promise<never>): void;
  cancel(): void;
}

const causes = { tokens: 'max_tokens', nanos: 'max_cost' } as const;
const dimensions = ['tokens', 'nanos'] as const;
const nanosPerUsd = 1e9;
const aborted: Reservation = { ok: false, cause: 'aborted' };

export function createBudget(limit: BudgetLimit, shared: SharedBudget | null = null): Budget {
  return new TreeBudget(createNode(null, limit, shared), new Set());
}

/** `waiters` are those of the whole tree. A class, because its methods are then not made anew for each of thousands of runs. */
class TreeBudget implements Budget {
  readonly #node: Node;
  readonly #waiters: Set<Waiter>;

  constructor(node: Node, waiters: Set<Waiter>) {
    this.#node = node;
    this.#waiters = waiters;
  }

  child(limit: BudgetLimit, shared: SharedBudget | null = null): Budget {
    return new TreeBudget(createNode(this.#node, limit, shared), this.#waiters);
  }

  async reserve(estimate: Amount, { headroom, signal }: ReserveOptions): Promise<Reservation> {
    if (signal.aborted) return aborted;
    const request = { node: this.#node, estimate: amountToUnits(estimate), headroom: amountToUnits(headroom) };
    const refusal = findExceeded(request, 'spent');
    if (refusal !== null) return { ok: false, cause: refusal };
    // The usual case: no call waits, and this one fits.
    if (this.#waiters.size === 0 && findExceeded(request, 'spent and reserved') === null && findUncovered(request) === null)
      return this.#grant(request);
    const { promise, resolve } = Promise.withResolvers<Reservation>();
    const cancel = () => {
      this.#resolveWaiter(waiter, aborted);
      this.#serveWaiters();
    };
    const waiter: Waiter = { ...request, signal, isDrawing: false, resolve, cancel };
    this.#waiters.add(waiter);
    signal.addEventListener('abort', cancel, { once: true });
    this.#serveWaiters();
    return promise;
  }

  charge(actual: Amount): void {
    add(this.#node, 'spent', amountToUnits(actual));
    this.#serveWaiters();
  }

  spent(): Amount {
    return unitsToAmount(this.#node.spent);
  }

  reserved(): Amount {
    return unitsToAmount(this.#node.reserved);
  }

  left(): ReturnType<Budget['left']> {
    const nanos = computeLeft(this.#node, 'nanos');
    return { tokens: computeLeft(this.#node, 'tokens'), costUsd: nanos === null ? null : nanos / nanosPerUsd };
  }

  limitsCost(): boolean {
    return computeLeft(this.#node, 'nanos') !== null || listNodes(this.#node).some(({ shared }) => shared?.limitsCost());
  }

  async close(): Promise<void> {
    await this.#node.shared?.close(createUseReader(this.#node));
  }

  #resolveWaiter(waiter: Waiter, reservation: Reservation | Promise<never>): void {
    this.#waiters.delete(waiter);
    waiter.signal.removeEventListener('abort', waiter.cancel);
    waiter.resolve(reservation);
  }

  /** Grants or refuses waiters in order, up to the first that must keep waiting (B3). */
  #serveWaiters(): void {
    for (const waiter of this.#waiters) {
      const refusal = findExceeded(waiter, 'spent');
      if (waiter.signal.aborted) this.#resolveWaiter(waiter, aborted);
      else if (refusal !== null) this.#resolveWaiter(waiter, { ok: false, cause: refusal });
      else if (findExceeded(waiter, 'spent and reserved') !== null) return;
      else {
        const lacking = findUncovered(waiter);
        if (lacking === null) this.#resolveWaiter(waiter, this.#grant(waiter));
        else {
          this.#drawFor(waiter, lacking.node, lacking.shared);
          return;
        }
      }
    }
  }

  /** The waiter stays first in the queue until its shared budget has answered (B6). */
  #drawFor(waiter: Waiter, from: Node, shared: SharedBudget): void {
    if (waiter.isDrawing) return;
    waiter.isDrawing = true;
    shared.extend(createUseReader(from), unitsToAmount(addUnits(waiter.estimate, waiter.headroom)), waiter.signal).then(
      (refusal) => {
        waiter.isDrawing = false;
        if (refusal !== null && this.#waiters.has(waiter))
          this.#resolveWaiter(waiter, { ok: false, cause: refusal.cause, shared: refusal });
        this.#serveWaiters();
      },
      (error: unknown) => {
        if (this.#waiters.has(waiter)) this.#resolveWaiter(waiter, Promise.reject(error));
        this.#serveWaiters();
      },
    );
  }

  #grant({ node: from, estimate }: ReserveRequest): Reservation {
    add(from, 'reserved', estimate);
    let isOpen = true;
    return {
      ok: true,
      settle: (actual) => {
        if (!isOpen) return;
        isOpen = false;
        add(from, 'reserved', { tokens: -estimate.tokens, nanos: -estimate.nanos });
        add(from, 'spent', amountToUnits(actual, estimate));
        this.#serveWaiters();
      },
    };
  }
}

function listNodes(node: Node): Node[] {
  return node.parent === null ? [node] : [node, ...listNodes(node.parent)];
}

function createUseReader({ spent, reserved }: Node): ReadUse {
  return () => ({ spent: unitsToAmount(spent), reserved: unitsToAmount(reserved) });
}

/** The nearest node whose shared budget does not cover the call. */
function findUncovered({ node, estimate, headroom }: ReserveRequest): { node: Node; shared: SharedBudget } | null {
  for (let at: Node | null = node; at !== null; at = at.parent) {
    if (at.shared === null) continue;
    const sum = addUnits(addUnits(at.spent, at.reserved), addUnits(estimate, headroom));
    if (!at.shared.covers(unitsToAmount(sum))) return { node: at, shared: at.shared };
  }
  return null;
}

function addUnits(a: Units, b: Units): Units {
  return { tokens: a.tokens + b.tokens, nanos: a.nanos + b.nanos };
}

function createNode(parent: Node | null, { maxTokens, maxCostUsd }: BudgetLimit, shared: SharedBudget | null): Node {
  const limit = { tokens: maxTokens, nanos: maxCostUsd === null ? null : Math.round(maxCostUsd * nanosPerUsd) };
  return { parent, limit, spent: { tokens: 0, nanos: 0 }, reserved: { tokens: 0, nanos: 0 }, shared };
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

/** Invalid values are replaced by the estimate (B5). An invalid estimate is misuse and throws. */
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
