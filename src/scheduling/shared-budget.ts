// A tree's part of budgets that it shares with trees of other processes. It says up to which sum the tree may spend and reserve, and draws more from the ledger when
// that is not enough.
//
//  1. A sum is covered only if the ledger has allowed it, and only as long as that is valid.
//  2. Draws come one after another, and each reports what was spent until then.
//  3. A call that does not fit beside what was spent is refused. One that does not fit only beside the reservations of others waits.
//  4. When a reservation is no longer valid, the tree returns what its calls in flight do not need; at its end, everything.
import type { Amount } from '../contract/budget.ts';
import { RetinueError } from '../contract/error.ts';
import type { BudgetRefusal, DrawRequest, DrawResult } from '../ports/budgets.ts';
import type { Clock } from '../ports/clock.ts';
import type { StopSignal } from '../ports/stop.ts';
import type { Deadlines } from './deadlines.ts';

/** What the tree has spent and reserved now. */
export type ReadUse = () => { spent: Amount; reserved: Amount };

export interface SharedBudget {
  covers(sum: Amount): boolean;
  /** Draws for one more call. Null if it is covered now, or if the signal fired. Rejects if the ledger cannot be used. */
  extend(use: ReadUse, need: Amount, signal: StopSignal): Promise<BudgetRefusal | null>;
  /** Whether a limit in dollars applies, as far as known. */
  limitsCost(): boolean;
  /** Reports the last spending and returns what is reserved. To be called when nothing of the tree runs any more. Never rejects. */
  close(use: ReadUse): Promise<void>;
}

export interface SharedBudgetDeps {
  draw(request: Pick<DrawRequest, 'spent' | 'open' | 'need' | 'ahead'>): Promise<DrawResult>;
  clock: Clock;
  deadlines: Deadlines;
  /** In [0, 1). */
  random(): number;
}

/** Calls that are reserved ahead. */
const callsAhead = 8;
/** How long a call waits for the reservations of others before it asks again. */
const waitMs = { first: 100, longest: 2_000 };
const noAmount: Amount = { tokens: 0, costUsd: 0 };

export function createSharedBudget({ draw, clock, deadlines, random }: SharedBudgetDeps): SharedBudget {
  let allowed: { tokens: number | null; costUsd: number | null } = { tokens: 0, costUsd: 0 };
  let validUntil = Number.NEGATIVE_INFINITY;
  let last: Promise<unknown> = Promise.resolve();
  let cancelReturn: (() => void) | null = null;
  let isClosed = false;

  function drawInOrder(use: ReadUse, need: Amount): Promise<DrawResult> {
    const result = last.then(async () => {
      const { spent, reserved: open } = use();
      const ahead = { tokens: need.tokens * callsAhead, costUsd: need.costUsd * callsAhead };
      // Measured before the draw, so that the reservation ends here no later than in the ledger.
      const from = clock.monotonic();
      const drawn = await draw({ spent, open, need, ahead });
      if (drawn.ok) {
        allowed = drawn.allowed;
        validUntil = from + drawn.validMs;
      } else validUntil = Number.NEGATIVE_INFINITY;
      return drawn;
    });
    last = result.catch(() => {});
    return result;
  }

  /** Looks after a while what is still needed. `kept`: the reservation, if it is only for calls in flight. */
  function scheduleReturn(use: ReadUse, kept: Amount | null): void {
    cancelReturn?.();
    cancelReturn = isClosed
      ? null
      : deadlines.at(Math.max(validUntil, clock.monotonic() + waitMs.longest), () => void returnUnused(use, kept));
  }

  async function returnUnused(use: ReadUse, kept: Amount | null): Promise<void> {
    const isValid = clock.monotonic() < validUntil && kept === null;
    if (isValid || (kept !== null && isSame(kept, use().reserved))) return scheduleReturn(use, kept);
    let open = noAmount;
    await drawInOrder(() => {
      const now = use();
      open = now.reserved;
      return now;
    }, noAmount).catch(() => {});
    if (!isSame(open, noAmount)) scheduleReturn(use, open);
  }

  return {
    covers: ({ tokens, costUsd }) =>
      clock.monotonic() < validUntil && isWithin(tokens, allowed.tokens) && isWithin(toNanos(costUsd), allowed.costUsd, toNanos),
    async extend(use, need, signal) {
      for (let wait = waitMs.first; !signal.aborted; wait = Math.min(waitMs.longest, wait * 2)) {
        const drawn = await drawInOrder(use, need);
        if (drawn.ok) {
          scheduleReturn(use, null);
          return null;
        }
        if (drawn.reason === 'fenced') throw new RetinueError('fenced', 'another process has taken over the tree');
        if (drawn.reason === 'spent') return drawn.refusal;
        await deadlines.wait(wait * (0.5 + random()), signal);
      }
      return null;
    },
    limitsCost: () => allowed.costUsd !== null && validUntil !== Number.NEGATIVE_INFINITY,
    async close(use) {
      isClosed = true;
      cancelReturn?.();
      cancelReturn = null;
      await drawInOrder(use, noAmount).catch(() => {});
    },
  };
}

/** Compared in whole billionths of a dollar, because sums of fractions drift. */
function toNanos(usd: number): number {
  return Math.round(usd * 1e9);
}

function isSame(a: Amount, b: Amount): boolean {
  return a.tokens === b.tokens && a.costUsd === b.costUsd;
}

function isWithin(value: number, limit: number | null, convert: (limit: number) => number = (each) => each): boolean {
  return limit === null || value <= convert(limit);
}
