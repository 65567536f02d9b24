// Limits of a provider over several processes: what each exchange grants, with processes that come, go and die.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LimitGrant, LimitRequest, ProviderRate } from '../../src/ports/shared-limits.ts';
import { type LimitState, newLimitState, planExchange } from '../../src/stores/provider-limits.ts';

const idle = { open: 0, waiting: 0, nextTokens: 0, tokens: 0 };

function createKey(rate: ProviderRate) {
  let state: LimitState = newLimitState;
  return {
    exchange(owner: string, now: number, request: Partial<LimitRequest> = {}): LimitGrant & { news: unknown } {
      const planned = planExchange(state, { owner, rate, unused: { requests: 0, tokens: 0 }, calls: idle, ...request }, now);
      // As a store keeps it.
      state = JSON.parse(JSON.stringify(planned.state));
      return { ...planned.grant, news: planned.news };
    },
    state: () => state,
  };
}

const waiting = (count: number, tokens = 0) => ({ open: 0, waiting: count, nextTokens: tokens, tokens: tokens * count });

describe('rates', () => {
  it('in any minute at most the limit is used, however processes ask, keep and return grants', () => {
    const step = fc.record({
      owner: fc.constantFrom('a', 'b', 'c'),
      after: fc.constantFrom(0, 10, 300, 700, 700, 1_500, 7_000),
      calls: fc.integer({ min: 1, max: 30 }),
      tokens: fc.integer({ min: 1, max: 300 }),
      /** How late within its validity a grant is used, and which part of it. */
      late: fc.integer({ min: 0, max: 1_999 }),
      part: fc.constantFrom(1, 1, 1, 1, 0.5, 0),
    });
    let used = 0;
    fc.assert(
      fc.property(
        fc.record({ requestsPerMinute: fc.integer({ min: 1, max: 300 }), tokensPerMinute: fc.integer({ min: 1_000, max: 20_000 }) }),
        fc.array(step, { minLength: 100, maxLength: 250 }),
        (rate, steps) => {
          const key = createKey(rate);
          const uses: { at: number; requests: number; tokens: number }[] = [];
          const unused = new Map<string, { requests: number; tokens: number }>();
          let now = 1_000_000;
          for (const { owner, after, calls, tokens, late, part } of steps) {
            now += after;
            const grant = key.exchange(owner, now, {
              unused: unused.get(owner) ?? { requests: 0, tokens: 0 },
              calls: waiting(calls, tokens),
            });
            const [requests, took] = [Math.floor(grant.requests * part), Math.floor(grant.tokens * part)];
            unused.set(owner, { requests: grant.requests - requests, tokens: grant.tokens - took });
            expect(late).toBeLessThan(grant.validMs);
            uses.push({ at: now + late, requests, tokens: took });
            used += requests;
          }
          for (const { at: from } of uses) {
            const within = uses.filter(({ at }) => at >= from && at < from + 60_000);
            expect(within.reduce((sum, { requests }) => sum + requests, 0)).toBeLessThanOrEqual(rate.requestsPerMinute);
            expect(within.reduce((sum, { tokens }) => sum + tokens, 0)).toBeLessThanOrEqual(rate.tokensPerMinute);
          }
        },
      ),
      { seed: 20_265, numRuns: 60 },
    );
    expect(used).toBeGreaterThan(1_000);
  });

  it('most of the limit is available to a process that waits', () => {
    const key = createKey({ requestsPerMinute: 60 });
    let granted = 0;
    for (let now = 0; now < 600_000; now += 500) granted += key.exchange('a', now, { calls: waiting(1) }).requests;
    expect(granted).toBeGreaterThan(600 * 0.85);
    expect(granted).toBeLessThanOrEqual(600 + 5);
  });

  it('calls that took more than their estimates are paid before new ones', () => {
    const key = createKey({ tokensPerMinute: 12_000 });
    expect(key.exchange('a', 0, { calls: waiting(1, 500) }).tokens).toBeGreaterThanOrEqual(500);
    const owing = key.exchange('a', 100, { unused: { requests: 0, tokens: -5_000 }, calls: waiting(1, 500) });
    expect(owing).toMatchObject({ tokens: 0, retryMs: 2_000 });
    expect(key.exchange('b', 10_000, { calls: waiting(1, 500) }).tokens).toBe(0);
    expect(key.exchange('b', 40_000, { calls: waiting(1, 500) }).tokens).toBeGreaterThanOrEqual(500);
  });
});

describe('slots', () => {
  it('are never more than the limit, and no process waits for ever', () => {
    const step = fc.record({ owner: fc.constantFrom('a', 'b', 'c', 'd'), begins: fc.nat(6), ends: fc.nat(6), dies: fc.boolean() });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 60, size: 'max' }), (concurrent, steps) => {
        const key = createKey({ concurrent });
        const processes = new Map<string, { open: number; slots: number; waiting: number; seen: number }>();
        let now = 0;
        for (const [index, { owner, begins, ends, dies }] of steps.entries()) {
          now += 300;
          const own = processes.get(owner) ?? { open: 0, slots: 0, waiting: 0, seen: now };
          processes.set(owner, own);
          if (dies && index % 7 === 0) {
            // Its calls end with it; its slots come back after a while.
            processes.delete(owner);
            continue;
          }
          own.open = Math.max(0, own.open - ends);
          own.waiting += begins;
          own.slots = key.exchange(owner, now, { calls: { ...idle, open: own.open, waiting: own.waiting } }).slots;
          own.seen = now;
          const started = Math.min(own.waiting, Math.max(0, own.slots - own.open));
          own.open += started;
          own.waiting -= started;
          for (const each of processes.values()) if (now - each.seen > 6_000) Object.assign(each, { slots: each.open });
          const total = [...processes.values()].reduce((sum, each) => sum + each.open, 0);
          expect(total).toBeLessThanOrEqual(concurrent);
        }
        // Everybody asks again and again, and calls end.
        for (let round = 0; round < 1_000; round++) {
          for (const [owner, own] of processes) {
            now += 300;
            own.open = 0;
            own.slots = key.exchange(owner, now, { calls: { ...idle, waiting: own.waiting } }).slots;
            own.open = Math.min(own.waiting, own.slots);
            own.waiting -= own.open;
          }
        }
        expect([...processes.values()].filter(({ waiting }) => waiting > 0)).toEqual([]);
      }),
      { seed: 20_265, numRuns: 60 },
    );
  });

  it('are shared fairly, and one alone gets them all', () => {
    const key = createKey({ concurrent: 8 });
    expect(key.exchange('a', 0, { calls: { ...idle, waiting: 100 } })).toMatchObject({ slots: 8, isContended: false });
    expect(key.exchange('b', 10, { calls: { ...idle, waiting: 100 } })).toMatchObject({ slots: 0, retryMs: 200 });
    expect(key.exchange('a', 20, { calls: { ...idle, open: 4, waiting: 96 } })).toMatchObject({ slots: 4, isContended: true });
    expect(key.exchange('b', 30, { calls: { ...idle, waiting: 100 } })).toMatchObject({ slots: 4 });
    expect(key.exchange('a', 40, { calls: { ...idle, open: 4, waiting: 96 } })).toMatchObject({ slots: 4 });
  });

  it('of a dead process come back', () => {
    const key = createKey({ concurrent: 2 });
    key.exchange('dead', 0, { calls: { ...idle, waiting: 2 } });
    expect(key.exchange('a', 14_000, { calls: { ...idle, waiting: 1 } }).slots).toBe(0);
    expect(key.exchange('a', 15_001, { calls: { ...idle, waiting: 1 } }).slots).toBe(1);
    expect(Object.keys(key.state().sharers)).toEqual(['a']);
  });
});

describe('back-off', () => {
  const refused = (blockedMs: number, inRow = 1) => ({ report: { kind: 'refused' as const, blockedMs, inRow } });

  it('is the longest that was reported; refusals at the same time count once', () => {
    const key = createKey({});
    expect(key.exchange('a', 0, refused(1_000)).news).toEqual({ kind: 'refused', blockedMs: 1_000, inRow: 1 });
    expect(key.exchange('b', 100, refused(800))).toMatchObject({ blockedMs: 900, inRow: 1, isOpen: false, news: null });
    expect(key.exchange('b', 100, refused(5_000)).news).toEqual({ kind: 'refused', blockedMs: 5_000, inRow: 1 });
    expect(key.exchange('c', 6_000, refused(1_000))).toMatchObject({ inRow: 2 });
  });

  it('is followed by one probe; whoever comes later waits for its result', () => {
    const key = createKey({});
    key.exchange('a', 0, refused(1_000));
    const probe = { report: { kind: 'probe' as const } };
    expect(key.exchange('a', 999, probe)).toMatchObject({ mayProbe: false, blockedMs: 1 });
    expect(key.exchange('b', 1_000, probe)).toMatchObject({ mayProbe: true, blockedMs: 0 });
    expect(key.exchange('a', 1_001, probe)).toMatchObject({ mayProbe: false, isOpen: false });
    expect(key.exchange('b', 1_500, { report: { kind: 'accepted' } })).toMatchObject({
      isOpen: true,
      inRow: 0,
      news: { kind: 'accepted' },
    });
    expect(key.exchange('a', 1_600, probe)).toMatchObject({ isOpen: true, mayProbe: false });
  });

  it('lets another process probe if the first gives up or dies', () => {
    const key = createKey({});
    const probe = { report: { kind: 'probe' as const } };
    key.exchange('a', 0, refused(1_000));
    expect(key.exchange('a', 2_000, probe).mayProbe).toBe(true);
    key.exchange('a', 2_100, { report: { kind: 'release' } });
    expect(key.exchange('b', 2_200, probe).mayProbe).toBe(true);
    expect(key.exchange('c', 62_000, probe).mayProbe).toBe(false);
    expect(key.exchange('c', 62_201, probe).mayProbe).toBe(true);
  });
});
