/**
 * Lanes: all calls to one provider share its back-off. A lane does not retry and makes no call; it says when one may begin.
 *
 *  1. While a lane backs off (429, 529), nobody enters.
 *  2. After that one call goes ahead; when the provider has taken it, all others follow, first come, first served.
 *  3. Calls that began before the last refusal neither lengthen the back-off step nor reset it: a burst of refusals counts once.
 *  4. A Retry-After is never undercut. Without one: 1 s, doubled at each refusal in a row up to 60 s, ±20 %.
 *  5. One whose signal fires while it waits gets null and leaves nothing behind.
 */
import { maxMs } from '../contract/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Deadlines } from './deadlines.ts';

export type LaneResult = { kind: 'ok' } | { kind: 'limited'; retryAfterMs: number | null } | { kind: 'failed' };

export interface Pass {
  /** The provider has taken the call (its first bytes came): who waits behind it need not wait for its end. */
  accepted(): void;
  /** The call is over. To be called for every pass, also when it was not used: others may wait behind it. Again: nothing. */
  leave(result: LaneResult): void;
}

export interface Lane {
  /** Null: the signal fired first. Never rejects. The wait is as long as the signal lets it be. */
  enter(signal: AbortSignal): Promise<Pass | null>;
}

export interface Lanes {
  lane(name: string): Lane;
}

export interface LaneOptions {
  clock: Clock;
  deadlines: Deadlines;
  /** In [0, 1). */
  random: () => number;
  /** Calls of one lane at once; as many as there are slots where it is absent. */
  maxConcurrent?: number;
}

export function createLanes(options: LaneOptions): Lanes {
  const lanes = new Map<string, Lane>();
  return {
    lane(name) {
      const lane = lanes.get(name) ?? createLane(options);
      lanes.set(name, lane);
      return lane;
    },
  };
}

interface Waiter {
  signal: AbortSignal;
  resolve(pass: Pass | null): void;
  cancel(): void;
}

function createLane({ clock, deadlines, random, maxConcurrent = Number.POSITIVE_INFINITY }: LaneOptions): Lane {
  const waiters = new Set<Waiter>();
  let inFlight = 0;
  /** Refusals so far, and in a row: a call is fresh while no refusal came since it began. */
  let refusals = 0;
  let inRow = 0;
  let blockedUntil = 0;
  /** False from a refusal until a fresh call is taken; until then `probe` is the only one that may be under way. */
  let open = true;
  let probe: Pass | null = null;
  let cancelTimer: (() => void) | null = null;

  function enter(signal: AbortSignal): Promise<Pass | null> {
    if (signal.aborted) return Promise.resolve(null);
    const { promise, resolve } = Promise.withResolvers<Pass | null>();
    const waiter: Waiter = { signal, resolve, cancel: () => settle(waiter, null) };
    waiters.add(waiter);
    signal.addEventListener('abort', waiter.cancel, { once: true });
    pump();
    return promise;
  }

  function settle(waiter: Waiter, pass: Pass | null): void {
    waiters.delete(waiter);
    waiter.signal.removeEventListener('abort', waiter.cancel);
    waiter.resolve(pass);
    if (waiters.size === 0) disarm();
  }

  function pump(): void {
    for (const waiter of waiters) {
      const blocked = clock.monotonic() < blockedUntil;
      if (blocked) arm();
      if (blocked || inFlight >= maxConcurrent || (!open && probe !== null)) return;
      settle(waiter, waiter.signal.aborted ? null : begin());
    }
  }

  function begin(): Pass {
    const began = refusals;
    let under = true;
    inFlight++;
    const pass: Pass = {
      accepted() {
        if (!under) return;
        if (probe === pass) probe = null;
        if (began === refusals) {
          open = true;
          inRow = 0;
        }
        pump();
      },
      leave(result) {
        if (!under) return;
        if (result.kind === 'ok') pass.accepted();
        if (result.kind === 'limited') refused(began === refusals, result.retryAfterMs);
        under = false;
        inFlight--;
        if (probe === pass) probe = null;
        pump();
      },
    };
    if (!open) probe = pass;
    return pass;
  }

  function refused(fresh: boolean, retryAfterMs: number | null): void {
    refusals++;
    if (fresh) inRow++;
    open = false;
    const pause = computeDelay(Math.max(1, inRow), retryAfterMs, { base: 1_000, cap: 60_000, random });
    blockedUntil = Math.max(blockedUntil, clock.monotonic() + pause);
  }

  function arm(): void {
    disarm();
    cancelTimer = deadlines.at(blockedUntil, pump);
  }

  function disarm(): void {
    cancelTimer?.();
    cancelTimer = null;
  }

  return { enter };
}

/** How long one call waits before its next attempt; `attempt` counts from 1. */
export function retryDelay(attempt: number, retryAfterMs: number | null, random: () => number): number {
  return computeDelay(attempt, retryAfterMs, { base: 500, cap: 30_000, random });
}

/** A provider's own wish is kept, up to a tenth later so that not all come at once; what is no length of time is no wish. */
function computeDelay(
  step: number,
  wish: number | null,
  { base, cap, random }: { base: number; cap: number; random: () => number },
): number {
  if (wish !== null && wish >= 0 && wish < Number.POSITIVE_INFINITY) return Math.min(maxMs, Math.ceil(wish * (1 + random() / 10)));
  return Math.ceil(Math.min(cap, base * 2 ** (step - 1)) * (0.8 + 0.4 * random()));
}
