// Lanes of several processes that share the limits of a provider's key, on a real store in memory and a clock that the test moves.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ProviderRate, SharedLimits } from '../../src/ports/shared-limits.ts';
import { createDeadlines } from '../../src/scheduling/deadlines.ts';
import { createLanes, type Lane, type Pass } from '../../src/scheduling/lanes.ts';
import { createMemoryData } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock, type HandClock } from '../../src/testing/hand-clock.ts';

let clock: HandClock;
let memory: ReturnType<typeof createMemoryData>;
let exchanges: number;
let warnings: string[];
let isDown: boolean;
const open: (() => void)[] = [];

beforeEach(() => {
  clock = createHandClock();
  memory = createMemoryData();
  exchanges = 0;
  warnings = [];
  isDown = false;
});
afterEach(() => {
  for (const close of open.splice(0)) close();
});

function createProcess(owner: string, rate: ProviderRate = {}, secret = 'the key'): Lane {
  const { limits: own } = createMemoryStore({ clock, memory });
  const limits: SharedLimits = {
    ...own,
    exchange(key, request) {
      exchanges++;
      return isDown ? new Promise(() => {}) : own.exchange(key, request);
    },
  };
  const deadlines = createDeadlines(clock);
  const lanes = createLanes({
    clock,
    deadlines,
    random: () => 0.5,
    shared: { limits, owner, warn: (message) => warnings.push(message) },
  });
  open.push(lanes.close);
  return lanes.lane('anthropic', { rate, identify: (hash) => hash(secret) });
}

interface Entry {
  pass: Pass | null;
  state: 'waiting' | 'in' | 'left';
  leave(result?: Parameters<Pass['leave']>[0], tokens?: number): void;
}

function enter(lane: Lane, tokens = 10): Entry {
  const entry: Entry = {
    pass: null,
    state: 'waiting',
    leave(result = { kind: 'ok' }, used) {
      entry.state = 'left';
      entry.pass?.leave(result, used);
    },
  };
  void lane.enter(new AbortController().signal, tokens).then((pass) => {
    entry.pass = pass;
    entry.state = 'in';
  });
  return entry;
}

const settle = () => clock.advance(0);
const states = (entries: Entry[]) => entries.map(({ state }) => state);
const refusal = { kind: 'limited' as const, retryAfterMs: 10_000 };

describe('back-off', () => {
  test('a refusal in one process stops the others, and its end lets them go on', async () => {
    const [a, b] = [createProcess('a'), createProcess('b')];
    const [first, other] = [enter(a), enter(b)];
    await settle();
    expect(states([first, other])).toEqual(['in', 'in']);
    other.leave();
    first.leave(refusal);
    await settle();
    const waiting = [enter(b), enter(b), enter(a)];
    await clock.advance(9_000);
    expect(states(waiting)).toEqual(['waiting', 'waiting', 'waiting']);
    await clock.advance(5_000);
    // Exactly one of both processes probes.
    expect(states(waiting).filter((state) => state === 'in')).toHaveLength(1);
    await clock.advance(5_000);
    expect(states(waiting).filter((state) => state === 'in')).toHaveLength(1);
    waiting.find(({ state }) => state === 'in')?.pass?.accepted();
    await clock.advance(1_000);
    expect(states(waiting)).toEqual(['in', 'in', 'in']);
  });

  test('a process that begins later knows of it', async () => {
    const a = createProcess('a');
    const first = enter(a);
    await settle();
    first.leave(refusal);
    await settle();
    const late = enter(createProcess('late'));
    await clock.advance(9_000);
    expect(late.state).toBe('waiting');
    await clock.advance(3_000);
    expect(late.state).toBe('in');
  });

  test('refusals in a row double over all processes', async () => {
    const [a, b] = [createProcess('a'), createProcess('b')];
    const first = enter(a);
    await settle();
    first.leave({ kind: 'limited', retryAfterMs: null });
    await settle();
    const second = enter(b);
    await clock.advance(1_100);
    expect(second.state).toBe('in');
    second.leave({ kind: 'limited', retryAfterMs: null });
    const third = enter(a);
    await clock.advance(1_800);
    expect(third.state).toBe('waiting');
    await clock.advance(1_000);
    expect(third.state).toBe('in');
  });

  test('a probe that fails for another reason is repeated by whoever is next', async () => {
    const [a, b] = [createProcess('a'), createProcess('b')];
    const first = enter(a);
    await settle();
    first.leave(refusal);
    const probe = enter(a);
    await clock.advance(11_000);
    expect(probe.state).toBe('in');
    const next = enter(b);
    await clock.advance(1_000);
    expect(next.state).toBe('waiting');
    probe.leave({ kind: 'failed' });
    await clock.advance(1_000);
    expect(next.state).toBe('in');
  });

  test('another key is not affected', async () => {
    const first = enter(createProcess('a'));
    await settle();
    first.leave(refusal);
    const other = enter(createProcess('b', {}, 'another key'));
    await settle();
    expect(other.state).toBe('in');
  });
});

describe('rates', () => {
  test('concurrent calls of all processes stay below the limit, and each process gets some', async () => {
    const rate = { concurrent: 4 };
    const processes = ['a', 'b', 'c'].map((owner) => createProcess(owner, rate));
    const entries = processes.map((lane) => Array.from({ length: 12 }, () => enter(lane)));
    const done = [0, 0, 0];
    for (let i = 0; i < 400; i++) {
      await clock.advance(100);
      const inFlight = entries.flat().filter(({ state }) => state === 'in');
      expect(inFlight.length).toBeLessThanOrEqual(4);
      for (const [index, list] of entries.entries())
        for (const entry of list)
          if (entry.state === 'in' && i % 5 === 0) {
            entry.leave();
            done[index] = (done[index] as number) + 1;
          }
      if (i === 60) for (const count of done) expect(count).toBeGreaterThan(0);
    }
    expect(states(entries.flat()).every((state) => state === 'left')).toBe(true);
  });

  test('requests of all processes stay below the limit in each minute', async () => {
    const rate = { requestsPerMinute: 60 };
    const processes = ['a', 'b'].map((owner) => createProcess(owner, rate));
    const entries = processes.flatMap((lane) => Array.from({ length: 100 }, () => enter(lane)));
    const begun: number[] = [];
    for (let second = 0; second < 180; second++) {
      await clock.advance(1_000);
      for (const entry of entries)
        if (entry.state === 'in') {
          begun.push(second);
          entry.leave();
        }
    }
    for (const from of begun) expect(begun.filter((at) => at >= from && at < from + 60).length).toBeLessThanOrEqual(60);
    expect(begun.length).toBeGreaterThan(140);
  });

  test('tokens are corrected by the actual usage', async () => {
    const lane = createProcess('a', { tokensPerMinute: 12_000 });
    const first = enter(lane, 500);
    await settle();
    first.leave({ kind: 'ok' }, 6_000);
    const second = enter(lane, 500);
    await clock.advance(20_000);
    expect(second.state).toBe('waiting');
    await clock.advance(20_000);
    expect(second.state).toBe('in');
  });

  test('most calls need no exchange, a lane without a rate makes one, and an idle lane none', async () => {
    const limited = createProcess('a', { requestsPerMinute: 6_000, concurrent: 50 });
    for (let i = 0; i < 40; i++) {
      const entry = enter(limited);
      await settle();
      expect(entry.state).toBe('in');
      entry.leave();
    }
    expect(exchanges).toBeLessThanOrEqual(16);
    const before = exchanges;
    await clock.advance(600_000);
    expect(exchanges).toBe(before);
    expect(clock.pending()).toBe(0);
    const free = createProcess('b');
    for (let i = 0; i < 40; i++) {
      const entry = enter(free);
      await settle();
      entry.leave();
    }
    expect(exchanges).toBe(before + 1);
  });

  test('without the store calls continue with the share of the process, which says so once', async () => {
    const rate = { requestsPerMinute: 60, concurrent: 2 };
    const lane = createProcess('a', rate);
    const first = enter(lane);
    await settle();
    expect(first.state).toBe('in');
    first.leave();
    isDown = true;
    await clock.advance(10_000);
    const entries = Array.from({ length: 10 }, () => enter(lane));
    let done = 0;
    for (let i = 0; i < 300; i++) {
      await clock.advance(100);
      for (const entry of entries)
        if (entry.state === 'in') {
          entry.leave();
          done++;
        }
    }
    expect(done).toBe(10);
    expect(warnings).toEqual([
      'the limits of anthropic cannot be shared with other processes at the moment; this process continues with its share',
    ]);
    isDown = false;
    const last = enter(lane);
    await clock.advance(5_000);
    expect(last.state).toBe('in');
    expect(warnings).toHaveLength(2);
  });
});
