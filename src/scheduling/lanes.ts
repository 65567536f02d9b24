// Lanes: all calls to one provider share their back-off. A lane makes no calls and does not retry; it decides when a call may begin.
//
//  1. While a lane backs off (429, 529), no call enters.
//  2. After that, one call probes the provider. When the provider accepts it, all others follow, first come, first served.
//  3. Calls that began before the last refusal neither lengthen nor reset the back-off, so a burst of refusals counts once.
//  4. A back-off is 1 s, doubled at each refusal in a row up to 60 s, ±20 %, or Retry-After if that is longer.
//  5. A waiting call whose signal fires gets null and leaves nothing behind.
import { maxMs } from '../contract/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Deadlines } from './deadlines.ts';

export type LaneResult = { kind: 'ok' } | { kind: 'limited'; retryAfterMs: number | null } | { kind: 'failed' };

/** The permission to make one call. */
export interface Pass {
  /** The provider has accepted the call (its first bytes arrived), so calls behind it need not wait for its end. */
  accepted(): void;
  /** The call is over. Must be called for every pass, even an unused one, because other calls may wait. Calling it again has no effect. */
  leave(result: LaneResult): void;
}

export interface Lane {
  /** Null if the signal fired first. Never rejects and has no timeout of its own. */
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
  /** Concurrent calls per lane; unlimited if absent. */
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
  /** All refusals so far. A call is fresh if there was no refusal since it began. */
  let refusals = 0;
  let refusalsInRow = 0;
  let blockedUntil = 0;
  /** False from a refusal until a fresh call is accepted. Until then only `probe` may be in flight. */
  let isOpen = true;
  let probe: Pass | null = null;
  let cancelTimer: (() => void) | null = null;

  function enter(signal: AbortSignal): Promise<Pass | null> {
    if (signal.aborted) return Promise.resolve(null);
    const { promise, resolve } = Promise.withResolvers<Pass | null>();
    const waiter: Waiter = { signal, resolve, cancel: () => resolveWaiter(waiter, null) };
    waiters.add(waiter);
    signal.addEventListener('abort', waiter.cancel, { once: true });
    admitWaiters();
    return promise;
  }

  function resolveWaiter(waiter: Waiter, pass: Pass | null): void {
    waiters.delete(waiter);
    waiter.signal.removeEventListener('abort', waiter.cancel);
    waiter.resolve(pass);
    if (waiters.size === 0) disarm();
  }

  function admitWaiters(): void {
    for (const waiter of waiters) {
      const isBlocked = clock.monotonic() < blockedUntil;
      if (isBlocked) arm();
      if (isBlocked || inFlight >= maxConcurrent || (!isOpen && probe !== null)) return;
      resolveWaiter(waiter, waiter.signal.aborted ? null : createPass());
    }
  }

  function createPass(): Pass {
    const refusalsBefore = refusals;
    const isFresh = () => refusals === refusalsBefore;
    let isInFlight = true;
    inFlight++;
    const pass: Pass = {
      accepted() {
        if (!isInFlight) return;
        if (probe === pass) probe = null;
        if (isFresh()) {
          isOpen = true;
          refusalsInRow = 0;
        }
        admitWaiters();
      },
      leave(result) {
        if (!isInFlight) return;
        if (result.kind === 'ok') pass.accepted();
        if (result.kind === 'limited') backOff(isFresh(), result.retryAfterMs);
        isInFlight = false;
        inFlight--;
        if (probe === pass) probe = null;
        admitWaiters();
      },
    };
    if (!isOpen) probe = pass;
    return pass;
  }

  function backOff(isFresh: boolean, retryAfterMs: number | null): void {
    refusals++;
    if (isFresh) refusalsInRow++;
    isOpen = false;
    const delay = computeDelay(Math.max(1, refusalsInRow), retryAfterMs, { base: 1_000, cap: 60_000, random });
    blockedUntil = Math.max(blockedUntil, clock.monotonic() + delay);
  }

  function arm(): void {
    disarm();
    cancelTimer = deadlines.at(blockedUntil, admitWaiters);
  }

  function disarm(): void {
    cancelTimer?.();
    cancelTimer = null;
  }

  return { enter };
}

/** How long a call waits before its next attempt. `attempt` counts from 1. */
export function retryDelay(attempt: number, retryAfterMs: number | null, random: () => number): number {
  return computeDelay(attempt, retryAfterMs, { base: 500, cap: 30_000, random });
}

/**
 * Exponential, ±20 %. A longer Retry-After counts instead, plus up to 10 %, so that calls do not all return at once. A Retry-After of 0 or in the past
 * does not shorten the wait.
 */
function computeDelay(
  step: number,
  retryAfterMs: number | null,
  { base, cap, random }: { base: number; cap: number; random: () => number },
): number {
  const jitter = random();
  const usual = Math.ceil(Math.min(cap, base * 2 ** (step - 1)) * (0.8 + 0.4 * jitter));
  const isGiven = retryAfterMs !== null && retryAfterMs > 0 && retryAfterMs < Number.POSITIVE_INFINITY;
  return isGiven ? Math.max(usual, Math.min(maxMs, Math.ceil(retryAfterMs * (1 + jitter / 10)))) : usual;
}
