// Lanes: all calls to one provider share their back-off. A lane makes no calls and does not retry; it decides when a call may begin.
//
// N1. While a lane backs off (429, 529), no call enters.
// N2. After that, one call probes the provider. When the provider accepts it, all others follow, first come, first served.
// N3. Calls that began before the last refusal neither lengthen nor reset the back-off, so a burst of refusals counts once.
// N4. A back-off is 1 s, doubled at each refusal in a row up to 60 s, ±20 %, or Retry-After if that is longer.
// N5. A waiting call whose signal fires gets null and leaves nothing behind.
// N6. A lane with shared limits (lane-limits.ts) tells other processes of refusals and obeys theirs. Of all processes, one probes.
import { maxMs } from '../contract/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { LimitNews, ProviderRate, SharedLimits } from '../ports/shared-limits.ts';
import type { StopSignal } from '../ports/stop.ts';
import type { Deadlines } from './deadlines.ts';
import { createLaneLimits, type LaneLimits } from './lane-limits.ts';

export type LaneResult = { kind: 'ok' } | { kind: 'limited'; retryAfterMs: number | null } | { kind: 'failed' };

/** The permission to make one call. */
export interface Pass {
  /** The provider has accepted the call (its first bytes arrived), so calls behind it need not wait for its end. */
  accepted(): void;
  /**
   * The call is over. Must be called for every pass, even an unused one, because other calls may wait. Calling it again has no effect. `tokens`: what it
   * took, if known.
   */
  leave(result: LaneResult, tokens?: number): void;
}

export interface Lane {
  /** Null if the signal fired first. Never rejects and has no timeout of its own. `tokens`: the estimate of the call. */
  enter(signal: StopSignal, tokens?: number): Promise<Pass | null>;
}

/** The provider's key of a lane. `identify` gets a keyed hash function and returns the name of the key in a shared store. */
export interface LaneAccount {
  rate: ProviderRate;
  identify(hash: (secret: string) => string | null): string | null;
}

export interface Lanes {
  /** The account is that of the first call. */
  lane(name: string, account?: LaneAccount): Lane;
  /** Stops listening to other processes. */
  close(): void;
}

export interface LaneOptions {
  clock: Clock;
  deadlines: Deadlines;
  /** In [0, 1). */
  random: () => number;
  /** Concurrent calls per lane; unlimited if absent. */
  maxConcurrent?: number;
  /** If given, lanes with an account share their limits with other processes. */
  shared?: { limits: SharedLimits; owner: string; warn(message: string): void };
}

export function createLanes(options: LaneOptions): Lanes {
  const lanes = new Map<string, Lane>();
  /** Lanes by the names of their keys in the store. */
  const byKey = new Map<string, Set<OpenLane>>();
  let endWatch: (() => void) | null = null;

  /** One listener for all lanes. */
  function watch(limits: SharedLimits): void {
    endWatch ??= limits.watch((key, news) => {
      for (const lane of byKey.get(key) ?? []) lane.applyReport(news);
    });
  }

  function openLane(name: string, account: LaneAccount | undefined): Lane {
    const { shared } = options;
    const key = shared && account ? account.identify((secret) => shared.limits.identify(secret)) : null;
    if (!shared || !account || key === null) return createLane(options, null);
    const lane = createLane(options, { ...shared, key, name, rate: account.rate });
    byKey.set(key, (byKey.get(key) ?? new Set()).add(lane));
    watch(shared.limits);
    return lane;
  }

  return {
    lane(name, account) {
      const lane = lanes.get(name) ?? openLane(name, account);
      lanes.set(name, lane);
      return lane;
    },
    close: () => endWatch?.(),
  };
}

interface OpenLane extends Lane {
  /** Another process reports something. */
  applyReport(news: LimitNews): void;
}

interface SharedKey {
  limits: SharedLimits;
  owner: string;
  warn(message: string): void;
  key: string;
  name: string;
  rate: ProviderRate;
}

interface Waiter {
  signal: StopSignal;
  tokens: number;
  resolve(pass: Pass | null): void;
  cancel(): void;
}

function createLane(
  { clock, deadlines, random, maxConcurrent = Number.POSITIVE_INFINITY }: LaneOptions,
  shared: SharedKey | null,
): OpenLane {
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
  /** Whether this process may probe; only with shared limits. */
  let mayProbe = false;
  let isAskingToProbe = false;
  /** False until it is known what other processes reported before. */
  let isReady = shared === null;
  const limits: LaneLimits | null =
    shared && createLaneLimits({ ...shared, clock, deadlines, readWaiting, onChange: () => admitWaiters() });

  function readWaiting() {
    const [first] = waiters;
    const tokens = waiters.values().reduce((sum, waiter) => sum + waiter.tokens, 0);
    return { count: waiters.size, nextTokens: first?.tokens ?? 0, tokens };
  }

  function enter(signal: StopSignal, tokens = 0): Promise<Pass | null> {
    if (signal.aborted) return Promise.resolve(null);
    // The usual case: no call waits, and nothing is limited.
    if (isReady && isOpen && limits === null && waiters.size === 0 && inFlight < maxConcurrent && clock.monotonic() >= blockedUntil)
      return Promise.resolve(createPass(tokens));
    const { promise, resolve } = Promise.withResolvers<Pass | null>();
    const waiter: Waiter = { signal, tokens, resolve, cancel: () => resolveWaiter(waiter, null) };
    waiters.add(waiter);
    signal.addEventListener('abort', waiter.cancel, { once: true });
    if (!isReady && limits !== null && waiters.size === 1) void begin(limits);
    admitWaiters();
    return promise;
  }

  function resolveWaiter(waiter: Waiter, pass: Pass | null): void {
    waiters.delete(waiter);
    waiter.signal.removeEventListener('abort', waiter.cancel);
    waiter.resolve(pass);
    if (waiters.size > 0) return;
    disarm();
    limits?.stopTimerIfIdle();
    if (mayProbe && pass === null) limits?.releaseProbe();
    if (pass === null) mayProbe = false;
  }

  async function begin(own: LaneLimits): Promise<void> {
    const refusal = await own.readRefusal();
    isReady = true;
    if (refusal) applyReport({ kind: 'refused', ...refusal });
    admitWaiters();
  }

  function admitWaiters(): void {
    if (!isReady) return;
    for (const waiter of waiters) {
      const isBlocked = clock.monotonic() < blockedUntil;
      if (isBlocked) arm();
      if (isBlocked || inFlight >= maxConcurrent || (!isOpen && probe !== null)) return;
      if (waiter.signal.aborted) {
        resolveWaiter(waiter, null);
        continue;
      }
      if (!isOpen && limits !== null && !mayProbe) {
        askToProbe(limits);
        return;
      }
      if (limits !== null && !limits.take(waiter.tokens)) return;
      resolveWaiter(waiter, createPass(waiter.tokens));
    }
  }

  function askToProbe(own: LaneLimits): void {
    if (isAskingToProbe) return;
    isAskingToProbe = true;
    void own.askToProbe().then((result) => {
      isAskingToProbe = false;
      if (result.kind === 'open') applyReport({ kind: 'accepted' });
      else if (result.kind === 'wait') blockedUntil = Math.max(blockedUntil, clock.monotonic() + result.waitMs);
      else if (waiters.size === 0) own.releaseProbe();
      else mayProbe = true;
      admitWaiters();
    });
  }

  function applyReport(news: LimitNews): void {
    if (news.kind === 'accepted') {
      isOpen = true;
      refusalsInRow = 0;
      blockedUntil = 0;
    } else {
      refusals++;
      refusalsInRow = Math.max(refusalsInRow, news.inRow);
      isOpen = false;
      mayProbe = false;
      blockedUntil = Math.max(blockedUntil, clock.monotonic() + news.blockedMs);
    }
    admitWaiters();
  }

  function createPass(tokens: number): Pass {
    const refusalsBefore = refusals;
    const isFresh = () => refusals === refusalsBefore;
    let isInFlight = true;
    inFlight++;
    const pass: Pass = {
      accepted() {
        if (!isInFlight) return;
        if (probe === pass) probe = null;
        if (isFresh()) {
          if (!isOpen) limits?.report({ kind: 'accepted' });
          isOpen = true;
          refusalsInRow = 0;
        }
        admitWaiters();
      },
      leave(result, actual) {
        if (!isInFlight) return;
        if (result.kind === 'ok') pass.accepted();
        if (result.kind === 'limited') backOff(isFresh(), result.retryAfterMs);
        isInFlight = false;
        inFlight--;
        limits?.leave(tokens, actual ?? null);
        if (probe === pass) {
          probe = null;
          // It ended without an answer about the limit.
          if (!isOpen && result.kind === 'failed') limits?.releaseProbe();
        }
        admitWaiters();
      },
    };
    if (!isOpen) probe = pass;
    mayProbe = false;
    return pass;
  }

  function backOff(isFresh: boolean, retryAfterMs: number | null): void {
    refusals++;
    if (isFresh) refusalsInRow++;
    isOpen = false;
    const delay = computeDelay(Math.max(1, refusalsInRow), retryAfterMs, { base: 1_000, cap: 60_000, random });
    const until = clock.monotonic() + delay;
    const isLonger = until > blockedUntil + 1_000;
    blockedUntil = Math.max(blockedUntil, until);
    if (isFresh || isLonger) limits?.report({ kind: 'refused', blockedMs: delay, inRow: refusalsInRow });
  }

  function arm(): void {
    disarm();
    cancelTimer = deadlines.at(blockedUntil, admitWaiters);
  }

  function disarm(): void {
    cancelTimer?.();
    cancelTimer = null;
  }

  return { enter, applyReport };
}

/** How long a call waits before its next attempt. `attempt` counts from 1. */
export function computeRetryDelay(attempt: number, retryAfterMs: number | null, random: () => number): number {
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
