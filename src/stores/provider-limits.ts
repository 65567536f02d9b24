// What one exchange of a process changes in the shared state of a provider's key. Pure: a store reads the state under a lock and writes it back.
//
//  1. In any minute at most `requestsPerMinute` requests begin, and so for the estimates of tokens: a bucket refills so slowly that its content and what flows
//     in while grants are valid stay below the limit. Tokens beyond the estimates are owed and paid first.
//  2. The slots of all processes are at most `concurrent`. Those of a process that does not renew them come back.
//  3. A process that has no slot gets the next free one before those that came later.
//  4. After a refusal no process calls for the longest time that was reported. Then one process probes.
import type { LimitGrant, LimitNews, LimitRequest } from '../ports/shared-limits.ts';

interface Sharer {
  slots: number;
  waiting: number;
  /** Since when it waits without a slot; null if it does not. */
  since: number | null;
  until: number;
}

/** Times are milliseconds of the store's clock. */
export interface LimitState {
  requests: number | null;
  tokens: number | null;
  at: number;
  blockedUntil: number;
  inRow: number;
  isOpen: boolean;
  probe: { owner: string; until: number } | null;
  sharers: Record<string, Sharer>;
}

export const newLimitState: LimitState = {
  ...{ requests: null, tokens: null, at: 0, blockedUntil: 0, inRow: 0, isOpen: true, probe: null },
  sharers: {},
};

const validMs = 2_000;
/** A bucket holds what the limit gives in this part of a minute. */
const burstShare = 1 / 12;
/** Grants of this time may be used within a minute. */
const windowMs = 60_000 + 2 * validMs;
/** A process renews its slots far more often. */
const slotMs = 15_000;
const probeMs = 60_000;
/** Calls that are granted in advance, at most. */
const requestsAhead = 4;
const retry = { least: 25, most: validMs, slots: 200 };

export function planExchange(
  old: LimitState,
  request: LimitRequest,
  now: number,
): { state: LimitState; grant: LimitGrant; news: LimitNews | null } {
  const sharers = Object.fromEntries(Object.entries(old.sharers).filter(([id, { until }]) => until > now && id !== request.owner));
  const { state, news } = applyReport({ ...old, sharers }, request, now);
  const { calls, rate, owner } = request;
  const count = Object.keys(sharers).length + 1;
  const slots = grantSlots(sharers, old.sharers[owner], request, now);
  const requests = takeFrom(refill(old.requests, old.at, now, rate.requestsPerMinute, request.unused.requests), {
    ...{ now: calls.waiting, next: calls.waiting > 0 ? 1 : 0, ahead: requestsAhead, perMinute: rate.requestsPerMinute, count },
  });
  const tokens = takeFrom(refill(old.tokens, old.at, now, rate.tokensPerMinute, request.unused.tokens), {
    ...{ now: calls.tokens, next: calls.nextTokens, ahead: calls.nextTokens * requestsAhead, perMinute: rate.tokensPerMinute, count },
  });
  const isWaiting = slots.granted === 0 && calls.waiting > 0;
  const since = isWaiting ? (old.sharers[owner]?.since ?? now) : null;
  const self: Sharer = { slots: slots.granted, waiting: calls.waiting, since, until: now + (slots.granted > 0 ? slotMs : 3 * validMs) };
  const isActive = calls.open + calls.waiting > 0;
  return {
    news,
    state: {
      ...state,
      ...{ requests: requests.left, tokens: tokens.left, at: now },
      sharers: isActive ? { ...sharers, [owner]: self } : sharers,
    },
    grant: {
      requests: requests.granted,
      tokens: tokens.granted,
      ...{ slots: slots.granted, isContended: slots.isContended, sharers: count, validMs },
      retryMs: Math.min(retry.most, Math.max(retry.least, requests.waitMs, tokens.waitMs, slots.isShort ? retry.slots : 0)),
      ...{ blockedMs: Math.ceil(Math.max(0, state.blockedUntil - now)), inRow: state.inRow, isOpen: state.isOpen },
      mayProbe: !state.isOpen && state.probe?.owner === owner,
    },
  };
}

function applyReport(state: LimitState, { report, owner }: LimitRequest, now: number): { state: LimitState; news: LimitNews | null } {
  const probe = state.probe !== null && state.probe.until > now ? state.probe : null;
  switch (report?.kind) {
    case 'refused': {
      // Refusals of several processes at the same time count once.
      const isKnown = state.blockedUntil > now;
      const blockedUntil = Math.max(state.blockedUntil, now + report.blockedMs);
      const inRow = isKnown ? Math.max(state.inRow, report.inRow) : Math.max(state.inRow + 1, report.inRow);
      const isNews = !isKnown || blockedUntil > state.blockedUntil;
      return {
        state: { ...state, blockedUntil, inRow, isOpen: false, probe: null },
        news: isNews ? { kind: 'refused', blockedMs: Math.round(blockedUntil - now), inRow } : null,
      };
    }
    case 'accepted':
      if (state.blockedUntil > now && probe?.owner !== owner) return { state: { ...state, probe }, news: null };
      return {
        state: { ...state, blockedUntil: 0, inRow: 0, isOpen: true, probe: null },
        news: state.isOpen ? null : { kind: 'accepted' },
      };
    case 'probe': {
      const canProbe = !state.isOpen && state.blockedUntil <= now && (probe === null || probe.owner === owner);
      return { state: { ...state, probe: canProbe ? { owner, until: now + probeMs } : probe }, news: null };
    }
    case 'release':
      return { state: { ...state, probe: probe?.owner === owner ? null : probe }, news: null };
    default:
      return { state: { ...state, probe }, news: null };
  }
}

function getBurst(perMinute: number): number {
  return Math.max(1, Math.floor(perMinute * burstShare));
}

function getFlow(perMinute: number): number {
  return (perMinute - getBurst(perMinute) + 1) / windowMs;
}

function refill(content: number | null, at: number, now: number, perMinute: number | undefined, returned: number): number {
  if (perMinute === undefined) return 0;
  const burst = getBurst(perMinute);
  return Math.min(burst, (content ?? burst) + Math.max(0, now - at) * getFlow(perMinute) + returned);
}

interface Wanted {
  now: number;
  /** The least that is of use. */
  next: number;
  ahead: number;
  perMinute: number | undefined;
  count: number;
}

/** What waits now comes first. Something in advance is given only from a part of the rest, so that others find something too. */
function takeFrom(content: number, { now, next, ahead, perMinute, count }: Wanted): { granted: number; left: number; waitMs: number } {
  if (perMinute === undefined) return { granted: 0, left: 0, waitMs: 0 };
  const least = Math.min(next, getBurst(perMinute));
  if (content < least) return { granted: 0, left: content, waitMs: (least - content) / getFlow(perMinute) };
  const whole = Math.max(0, Math.floor(content));
  const forNow = Math.min(now, whole);
  const granted = forNow + Math.min(ahead, Math.floor((whole - forNow) / (2 * count)));
  return { granted, left: content - granted, waitMs: granted > 0 ? 0 : 1 / getFlow(perMinute) };
}

function grantSlots(
  others: Record<string, Sharer>,
  own: Sharer | undefined,
  { rate, calls }: LimitRequest,
  now: number,
): { granted: number; isContended: boolean; isShort: boolean } {
  const { concurrent } = rate;
  const wanted = calls.open + calls.waiting;
  if (concurrent === undefined) return { granted: wanted, isContended: false, isShort: false };
  const list = Object.values(others);
  const taken = list.reduce((sum, { slots }) => sum + slots, 0);
  const ownSince = own?.since ?? now;
  const waiting = list.filter(({ slots, waiting }) => slots === 0 && waiting > 0);
  const first = waiting.filter(({ since }) => since !== null && since < ownSince).length;
  const fair = Math.floor(concurrent / (list.filter(({ slots, waiting }) => slots + waiting > 0).length + 1));
  const isContended = waiting.length > 0 || list.some(({ slots, waiting }) => waiting > 0 && slots < fair);
  const free = concurrent - taken - first;
  const share = isContended ? Math.min(free, Math.max(fair, 1)) : free;
  // Calls that are open are not taken back.
  const granted = Math.max(calls.open, Math.min(wanted, Math.max(0, share)));
  return { granted, isContended, isShort: granted < wanted };
}
