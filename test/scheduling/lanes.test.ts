import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDeadlines } from '../../src/scheduling/deadlines.ts';
import { computeRetryDelay, createLanes, type Pass } from '../../src/scheduling/lanes.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';

const ok = { kind: 'ok' } as const;
const failed = { kind: 'failed' } as const;
const limited = (retryAfterMs: number | null = null) => ({ kind: 'limited', retryAfterMs }) as const;
const live = () => new AbortController().signal;

/** With `random` at 0.5 the delays are exactly 1 s, 2 s, 4 s …; at 0 a Retry-After is kept to the millisecond. */
function setUp(options: { random?: () => number; maxConcurrent?: number } = {}) {
  const clock = createHandClock();
  const deadlines = createDeadlines(clock);
  const { random = () => 0.5, ...rest } = options;
  const lanes = createLanes({ clock, deadlines, random, ...rest });
  const lane = lanes.lane('p');
  const entered: (Pass & { name: number })[] = [];
  let count = 0;
  const enter = (signal = live()) => {
    const name = count++;
    return lane.enter(signal).then((pass) => {
      if (pass !== null) entered.push({ ...pass, name });
      return pass;
    });
  };
  const enterMany = (n: number) => {
    for (let i = 0; i < n; i++) void enter();
    return clock.advance(0);
  };
  return { clock, deadlines, lanes, lane, entered, enter, enterMany };
}

/** Makes a refused call and waits until the lane admits the next one; returns how long that took. */
async function backOff(world: ReturnType<typeof setUp>, retryAfterMs: number | null = null): Promise<number> {
  const pass = world.entered.at(-1)!;
  pass.leave(limited(retryAfterMs));
  const before = world.entered.length;
  const began = world.clock.monotonic();
  void world.enter();
  while (world.entered.length === before) await world.clock.advance(50);
  return world.clock.monotonic() - began;
}

describe('lanes', () => {
  test('an open lane admits every call at once; lanes are independent', async () => {
    const { entered, enterMany, lanes, clock } = setUp();
    await enterMany(50);
    expect(entered).toHaveLength(50);
    entered[0]!.leave(limited(10_000));
    expect(await lanes.lane('other').enter(live())).not.toBeNull();
    expect(lanes.lane('p')).toBe(lanes.lane('p'));
    expect(clock.pending()).toBe(0);
  });

  test('N1: no call enters during back-off, and a later refusal can only lengthen it', async () => {
    const { entered, enterMany, clock } = setUp({ random: () => 0 });
    await enterMany(3);
    entered[0]!.leave(limited(5_000));
    await enterMany(2);
    await clock.advance(2_000);
    entered[1]!.leave(limited(4_000));
    entered[2]!.leave(limited(1_000));
    await clock.advance(3_999);
    expect(entered).toHaveLength(3);
    await clock.advance(1);
    expect(entered).toHaveLength(4);
  });

  test('N2: one call probes; when it succeeds, all others follow in order', async () => {
    const { entered, enterMany, clock } = setUp();
    await enterMany(1);
    entered[0]!.leave(limited());
    await enterMany(10);
    await clock.advance(60_000);
    expect(entered.map((one) => one.name)).toEqual([0, 1]);
    entered[1]!.leave(ok);
    await clock.advance(0);
    expect(entered.map((one) => one.name)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test('N2: the others follow when the provider has accepted the probe, before it ends', async () => {
    const { entered, enterMany, clock } = setUp();
    await enterMany(1);
    entered[0]!.leave(limited());
    await enterMany(3);
    await clock.advance(60_000);
    entered[1]!.accepted();
    await clock.advance(0);
    expect(entered).toHaveLength(4);
    // The probe takes minutes; after a new refusal another call may probe when the back-off is over.
    entered[2]!.leave(limited());
    await enterMany(1);
    await clock.advance(60_000);
    expect(entered).toHaveLength(5);
  });

  test('N2: if the probe fails for another reason, the next call probes', async () => {
    const { entered, enterMany, clock } = setUp();
    await enterMany(1);
    entered[0]!.leave(limited());
    await enterMany(3);
    await clock.advance(60_000);
    entered[1]!.leave(failed);
    await clock.advance(0);
    expect(entered.map((one) => one.name)).toEqual([0, 1, 2]);
    entered[2]!.leave(limited());
    await clock.advance(0);
    expect(entered).toHaveLength(3);
  });

  test('N3: a burst of 50 refusals counts once', async () => {
    const world = setUp();
    await world.enterMany(50);
    for (const pass of world.entered.slice(1)) pass.leave(limited());
    expect(await backOff({ ...world, entered: world.entered })).toBe(1_000);
    expect(await backOff(world)).toBe(2_000);
    expect(await backOff(world)).toBe(4_000);
  });

  test('N3: a success resets the back-off, unless its call began before the refusal', async () => {
    const world = setUp();
    await world.enterMany(3);
    const old = world.entered[0]!;
    expect(await backOff(world)).toBe(1_000);
    expect(await backOff(world)).toBe(2_000);
    old.leave(ok);
    expect(await backOff(world)).toBe(4_000);
    world.entered.at(-1)!.leave(ok);
    await world.enterMany(1);
    expect(await backOff(world)).toBe(1_000);
  });

  test('N4: delays double up to 60 s, ±20 %', async () => {
    for (const [random, factor] of [
      [() => 0, 0.8],
      [() => 0.5, 1],
      [() => 1 - 2 ** -53, 1.2],
    ] as const) {
      const world = setUp({ random });
      await world.enterMany(1);
      const waits: number[] = [];
      for (let i = 0; i < 8; i++) waits.push(await backOff(world));
      const exact = [1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1_000 * factor);
      for (const [index, wait] of waits.entries()) expect(Math.abs(wait - exact[index]!)).toBeLessThanOrEqual(50);
    }
  });

  test('N4: a Retry-After is kept and exceeded by at most 10 %; one of 0 does not shorten the usual back-off', async () => {
    const waits = async (random: () => number) => {
      const world = setUp({ random });
      await world.enterMany(1);
      return [await backOff(world, 7_000), await backOff(world, 0), await backOff(world, 120_000)];
    };
    expect(await waits(() => 0)).toEqual([7_000, 1_600, 120_000]);
    expect(await waits(() => 0.999_999)).toEqual([7_700, 2_400, 132_000]);
  });

  test('N5: an aborted call gets null and leaves nothing behind; the next moves up', async () => {
    const { entered, enter, enterMany, clock, deadlines } = setUp();
    await enterMany(1);
    entered[0]!.leave(limited(5_000));
    const stop = new AbortController();
    const kept = new AbortController();
    const stopped = enter(stop.signal);
    expect(deadlines.size).toBe(1);
    stop.abort();
    expect(await stopped).toBeNull();
    expect(await enter(AbortSignal.abort())).toBeNull();
    expect([deadlines.size, getEventListeners(stop.signal, 'abort')]).toEqual([0, []]);
    void enter(kept.signal);
    await clock.advance(6_000);
    expect(entered).toHaveLength(2);
    expect([deadlines.size, getEventListeners(kept.signal, 'abort')]).toEqual([0, []]);
  });

  test('N5: aborted by the listener that also frees the lane', async () => {
    const { entered, enter, enterMany } = setUp({ maxConcurrent: 1 });
    await enterMany(1);
    const stop = new AbortController();
    stop.signal.addEventListener('abort', () => entered[0]!.leave(ok));
    const stopped = enter(stop.signal);
    const next = enter();
    stop.abort();
    expect(await stopped).toBeNull();
    expect(await next).not.toBeNull();
  });

  test('random sequences: bounds and order are kept, and no call waits forever', async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant('enter' as const) }) },
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('leave' as const),
          which: fc.nat(),
          with: fc.constantFrom(ok, ok, failed, limited(), limited(3_000)),
        }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('stop' as const), which: fc.nat() }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.nat(3_000) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), fc.integer({ min: 1, max: 4 }), async (steps, maxConcurrent) => {
        const { entered, enter, clock, deadlines } = setUp({ maxConcurrent });
        const under: Pass[] = [];
        const waiting: AbortController[] = [];
        let looked = 0;
        const look = () => {
          under.push(...entered.slice(looked));
          looked = entered.length;
          expect(under.length).toBeLessThanOrEqual(maxConcurrent);
          const names = entered.map((one) => one.name);
          expect(names).toEqual(names.toSorted((a, b) => a - b));
        };
        for (const one of steps) {
          if (one.do === 'enter') {
            const stop = new AbortController();
            waiting.push(stop);
            void enter(stop.signal).then(() => waiting.splice(waiting.indexOf(stop), 1));
          }
          if (one.do === 'leave' && under.length > 0) {
            const [gone] = under.splice(one.which % under.length, 1);
            gone?.leave(one.with);
            gone?.leave(limited(1e9));
          }
          if (one.do === 'stop') waiting[one.which % Math.max(1, waiting.length)]?.abort();
          await clock.advance(one.do === 'advance' ? one.ms : 0);
          look();
        }
        for (let i = 0; waiting.length + under.length > 0; i++) {
          expect(i).toBeLessThan(200);
          for (const pass of under.splice(0)) pass.leave(ok);
          await clock.advance(10_000);
          look();
        }
        expect(deadlines.size).toBe(0);
      }),
      { seed: 20_263, numRuns: 150 },
    );
  });
});

describe('the retry delay of a call', () => {
  test('doubles from 500 ms up to 30 s, or is Retry-After if that is longer', () => {
    const middle = () => 0.5;
    expect([1, 2, 3, 6, 7, 8, 2_000].map((attempt) => computeRetryDelay(attempt, null, middle))).toEqual([
      500, 1_000, 2_000, 16_000, 30_000, 30_000, 30_000,
    ]);
    expect(computeRetryDelay(1, 1_234, () => 0)).toBe(1_234);
    expect(computeRetryDelay(3, 0, middle)).toBe(2_000);
    for (const nonsense of [Number.NaN, -1, Number.POSITIVE_INFINITY]) expect(computeRetryDelay(1, nonsense, middle)).toBe(500);
  });

  test('is always valid for a timer', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5_000 }),
        fc.option(fc.double()),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (attempt, wish, random) => {
          const ms = computeRetryDelay(attempt, wish, () => random);
          expect(Number.isInteger(ms) && ms >= 0 && ms <= 2_147_483_647).toBe(true);
          if (wish !== null && wish >= 0 && wish < 2_147_483_647) expect(ms).toBeGreaterThanOrEqual(wish);
        },
      ),
      { seed: 20_264, numRuns: 2_000 },
    );
  });
});
