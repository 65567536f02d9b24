// A lane's part of the limits that a provider's key has over all processes: what it may begin now, and what it tells and hears about refusals.
//
//  1. A call begins only with a request, tokens and a slot that were granted and are still valid. Most calls find them here, without an exchange.
//  2. One exchange is under way at a time. It returns the rest of the last grant.
//  3. If the store does not answer in time, the process continues with its share of the limits and says so once, until the store answers again.
//  4. Nothing is set or sent when no call waits or runs.
import type { Clock } from '../ports/clock.ts';
import type { LimitGrant, LimitNews, LimitRequest, ProviderRate, SharedLimits } from '../ports/shared-limits.ts';
import type { Deadlines } from './deadlines.ts';

export interface WaitingCalls {
  count: number;
  nextTokens: number;
  tokens: number;
}

/** What follows from a request to probe. `waitMs`: when to ask again, if another process probes or the back-off is longer than known. */
export type ProbeResult = { kind: 'open' } | { kind: 'probe' } | { kind: 'wait'; waitMs: number };

export interface LaneLimits {
  /** Takes what a call needs. False if something is missing: then more is asked for, and `onChange` called. */
  take(tokens: number): boolean;
  /** A call is over. `actual`: its tokens; null if unknown. */
  leave(estimate: number, actual: number | null): void;
  /** Call it when no call waits any more. */
  stopTimerIfIdle(): void;
  /** Tells other processes. Never rejects, and is not waited for. */
  report(news: LimitNews): void;
  askToProbe(): Promise<ProbeResult>;
  /** What other processes reported before this one began; null if nothing keeps calls back. */
  readRefusal(): Promise<{ blockedMs: number; inRow: number } | null>;
  releaseProbe(): void;
}

export interface LaneLimitDeps {
  limits: SharedLimits;
  /** Names the provider's key in the store. */
  key: string;
  owner: string;
  /** For messages. */
  name: string;
  rate: ProviderRate;
  clock: Clock;
  deadlines: Deadlines;
  warn(message: string): void;
  readWaiting(): WaitingCalls;
  /** Called when a call may begin that could not before. */
  onChange(): void;
}

/** Longer answers of the store count as none. */
const answerMs = 2_000;
/** How often open calls renew their slots. */
const renewMs = 4_000;
/** How long to wait for the probe of another process before asking again. */
const probeRetryMs = 500;
const noGrant = { requests: 0, tokens: 0 };

export function createLaneLimits(deps: LaneLimitDeps): LaneLimits {
  const { limits, key, owner, name, rate, clock, deadlines, warn, readWaiting, onChange } = deps;
  const hasRate = rate.requestsPerMinute !== undefined || rate.tokensPerMinute !== undefined || rate.concurrent !== undefined;
  let left = { ...noGrant };
  let validUntil = Number.NEGATIVE_INFINITY;
  let slots = 0;
  let slotsUntil = Number.NEGATIVE_INFINITY;
  let open = 0;
  let sharers = 1;
  let isContended = false;
  let isCut = false;
  let exchanging: Promise<LimitGrant> | null = null;
  let cancelTimer: (() => void) | null = null;
  /** Whether the timer waits for what the last exchange could not grant. */
  let isRetrying = false;

  /** Rejects if the store does not answer in time. */
  async function exchange(report?: LimitRequest['report']): Promise<LimitGrant> {
    while (exchanging !== null) await exchanging.catch(() => {});
    const { count, nextTokens, tokens } = readWaiting();
    const unused = left;
    left = { ...noGrant };
    const from = clock.monotonic();
    exchanging = waitForAnswer(
      limits.exchange(key, { owner, rate, unused, calls: { open, waiting: count, nextTokens, tokens }, report }),
    ).finally(() => {
      exchanging = null;
    });
    try {
      const grant = await exchanging;
      // What calls returned or overdrew meanwhile.
      left = { requests: left.requests + grant.requests, tokens: left.tokens + grant.tokens };
      validUntil = from + grant.validMs;
      slots = grant.slots;
      slotsUntil = from + 3 * grant.validMs;
      ({ sharers, isContended } = grant);
      if (isCut) warn(`the limits of ${name} are shared with other processes again`);
      isCut = false;
      return grant;
    } catch (error) {
      left = { requests: left.requests + unused.requests, tokens: left.tokens + unused.tokens };
      throw error;
    }
  }

  async function waitForAnswer(answer: Promise<LimitGrant>): Promise<LimitGrant> {
    const stop = new AbortController();
    const tooLate = deadlines.wait(answerMs, stop.signal).then(() => {
      if (!stop.signal.aborted) throw new Error('the store does not answer');
      return answer;
    });
    try {
      return await Promise.race([answer, tooLate]);
    } finally {
      stop.abort();
      tooLate.catch(() => {});
      answer.catch(() => {});
    }
  }

  /** The share of this process for a short time, as if the others still had theirs. */
  function useOwnShare(): number {
    if (!isCut) warn(`the limits of ${name} cannot be shared with other processes at the moment; this process continues with its share`);
    isCut = true;
    const part = answerMs / 60_000 / sharers;
    const grow = (content: number, perMinute = 0) => Math.min(Math.max(1, perMinute / 12), content + perMinute * part);
    left = { requests: grow(left.requests, rate.requestsPerMinute), tokens: grow(left.tokens, rate.tokensPerMinute) };
    slots = Math.max(open, 1, Math.floor((rate.concurrent ?? 0) / sharers));
    validUntil = clock.monotonic() + answerMs;
    slotsUntil = validUntil;
    return answerMs;
  }

  /** Asks for more, and again later if that is not enough or calls are open. */
  async function renew(): Promise<void> {
    cancelTimer?.();
    cancelTimer = null;
    // Until it is known how long to wait, calls that lack something wait for this exchange.
    isRetrying = true;
    const retryMs = await exchange().then((grant) => grant.retryMs, useOwnShare);
    onChange();
    isRetrying = readWaiting().count > 0;
    schedule(isRetrying ? retryMs : renewMs);
  }

  function schedule(ms: number): void {
    cancelTimer?.();
    const isIdle = open === 0 && readWaiting().count === 0;
    cancelTimer = isIdle ? null : deadlines.at(clock.monotonic() + ms, () => void renew());
  }

  function canTake(tokens: number): boolean {
    const now = clock.monotonic();
    const { requestsPerMinute, tokensPerMinute, concurrent } = rate;
    if (concurrent !== undefined && (now >= slotsUntil || open >= slots)) return false;
    if (requestsPerMinute === undefined && tokensPerMinute === undefined) return true;
    if (now >= validUntil) return false;
    // A call that is larger than a bucket takes all of it and owes the rest.
    const needed = tokensPerMinute === undefined ? 0 : Math.min(tokens, Math.max(1, Math.floor(tokensPerMinute / 12)));
    return (requestsPerMinute === undefined || left.requests >= 1) && (tokensPerMinute === undefined || left.tokens >= needed);
  }

  function stopTimerIfIdle(): void {
    if (open > 0 || readWaiting().count > 0) return;
    cancelTimer?.();
    cancelTimer = null;
    isRetrying = exchanging !== null;
  }

  const send = (report: LimitRequest['report']) => void exchange(report).catch(() => {});

  return {
    take(tokens) {
      if (!hasRate) return true;
      if (!canTake(tokens)) {
        if (!isRetrying && exchanging === null) void renew();
        return false;
      }
      left = { requests: left.requests - 1, tokens: left.tokens - tokens };
      open++;
      if (cancelTimer === null && exchanging === null) schedule(renewMs);
      return true;
    },
    leave(estimate, actual) {
      if (!hasRate) return;
      open--;
      left = { ...left, tokens: left.tokens + estimate - (actual ?? estimate) };
      // Another process waits for the slot.
      if (isContended && slots > open) {
        slots = open;
        if (exchanging === null) void renew();
      } else stopTimerIfIdle();
    },
    stopTimerIfIdle,
    report: send,
    async askToProbe() {
      try {
        const { isOpen, mayProbe, blockedMs } = await exchange({ kind: 'probe' });
        if (isOpen) return { kind: 'open' };
        return mayProbe ? { kind: 'probe' } : { kind: 'wait', waitMs: blockedMs > 0 ? blockedMs : probeRetryMs };
      } catch {
        return { kind: 'probe' };
      }
    },
    async readRefusal() {
      const { isOpen, blockedMs, inRow } = await exchange().catch(() => ({ isOpen: true, blockedMs: 0, inRow: 0 }));
      return isOpen ? null : { blockedMs, inRow };
    },
    releaseProbe: () => send({ kind: 'release' }),
  };
}
