import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDeadlines } from '../../src/scheduling/deadlines.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';

function setUp() {
  const clock = createHandClock();
  const errors: unknown[] = [];
  return { clock, errors, deadlines: createDeadlines(clock, (error) => errors.push(error)) };
}

type Step = { do: 'set'; in: number } | { do: 'cancel'; which: number } | { do: 'advance'; ms: number };
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('set' as const), in: fc.integer({ min: -5, max: 50 }) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), which: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.nat(20) }) },
  ),
  { maxLength: 60, size: 'max' },
);

describe('deadlines', () => {
  test('D1, D2 and D4: like a plain list, in random order with cancels', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (steps) => {
        const { clock, deadlines } = setUp();
        let open: { id: number; due: number; cancel: () => void }[] = [];
        const fired: number[] = [];
        const expected: number[] = [];
        for (const [id, step] of steps.entries()) {
          if (step.do === 'set') {
            const due = clock.monotonic() + step.in;
            open.push({ id, due, cancel: deadlines.at(due, () => fired.push(id)) });
          }
          if (step.do === 'cancel' && open.length > 0) {
            const [gone] = open.splice(step.which % open.length, 1);
            gone?.cancel();
            gone?.cancel();
          }
          expect(deadlines.size).toBe(open.length);
          expect(clock.pending()).toBe(open.length > 0 ? 1 : 0);
          // A past deadline fires without time passing, so check after everything has settled.
          await clock.advance(step.do === 'advance' ? step.ms : 0);
          const due = open.filter((one) => one.due <= clock.monotonic()).sort((a, b) => a.due - b.due || a.id - b.id);
          open = open.filter((one) => !due.includes(one));
          expected.push(...due.map((one) => one.id));
          expect(fired).toEqual(expected);
        }
      }),
      { seed: 20_262, numRuns: 150 },
    );
  });

  test('D1: one timer for 10,000 deadlines, none without deadlines', async () => {
    const { clock, deadlines } = setUp();
    let fired = 0;
    const cancels = Array.from({ length: 10_000 }, (_, index) => deadlines.at(1_000 + ((index * 7_919) % 10_000), () => fired++));
    expect(clock.pending()).toBe(1);
    for (const cancel of cancels.filter((_, index) => index % 2 === 0)) cancel();
    expect(deadlines.size).toBe(5_000);
    await clock.advance(20_000);
    expect([fired, deadlines.size, clock.pending()]).toEqual([5_000, 0, 0]);
    deadlines.at(30_000, () => fired++)();
    expect(clock.pending()).toBe(0);
  });

  test('D2: an earlier deadline that is set later fires first; the wall clock has no effect', async () => {
    const { clock, deadlines } = setUp();
    const fired: string[] = [];
    deadlines.at(100, () => fired.push('late'));
    deadlines.at(50, () => fired.push('early'));
    clock.jump(3_600_000);
    await clock.advance(49);
    expect(fired).toEqual([]);
    clock.jump(-7_200_000);
    await clock.advance(1);
    expect(fired).toEqual(['early']);
    await clock.advance(50);
    expect(fired).toEqual(['early', 'late']);
  });

  test('D2: later than the longest timer of Node', async () => {
    const { clock } = setUp();
    const asked: number[] = [];
    const at: typeof clock.at = (due, fire) => {
      asked.push(due - clock.monotonic());
      return clock.at(due, fire);
    };
    const deadlines = createDeadlines({ ...clock, at });
    let fired = false;
    deadlines.at(2 ** 33, () => {
      fired = true;
    });
    await clock.advance(2 ** 33 - 1);
    expect([fired, clock.pending()]).toEqual([false, 1]);
    await clock.advance(1);
    expect(fired).toBe(true);
    expect(Math.max(...asked)).toBeLessThanOrEqual(2_147_483_647);
    expect(() => deadlines.at(Number.NaN, () => {})).toThrow(RangeError);
  });

  test('D3: a callback that throws does not affect the others', async () => {
    const { clock, deadlines, errors } = setUp();
    const fired: number[] = [];
    deadlines.at(10, () => fired.push(1));
    deadlines.at(10, () => {
      throw new Error('no');
    });
    deadlines.at(10, () => fired.push(2));
    deadlines.at(20, () => fired.push(3));
    await clock.advance(20);
    expect(fired).toEqual([1, 2, 3]);
    expect(errors).toEqual([new Error('no')]);
  });

  test('D4: cancelled by another callback of the same moment', async () => {
    const { clock, deadlines } = setUp();
    const fired: string[] = [];
    deadlines.at(10, () => cancel());
    const cancel = deadlines.at(10, () => fired.push('cancelled'));
    deadlines.at(10, () => fired.push('kept'));
    await clock.advance(10);
    expect(fired).toEqual(['kept']);
  });

  test('a callback may set deadlines, also for now, without delaying the others', async () => {
    const { clock, deadlines } = setUp();
    let again = 0;
    let heard = 0;
    const repeat = () => {
      if (++again === 1_000) return;
      deadlines.at(0, repeat);
      void Promise.resolve().then(() => heard++);
    };
    deadlines.at(0, repeat);
    deadlines.at(5, () => {});
    // Others run between its firings: some promises settle long before the last firing.
    for (let i = 0; i < 50; i++) await Promise.resolve();
    expect(again).toBeLessThan(1_000);
    expect(heard).toBeGreaterThan(0);
    await clock.advance(5);
    expect([again, deadlines.size, clock.pending()]).toEqual([1_000, 0, 0]);
  });

  test('D5: wait ends after its time, with its signal, or at once', async () => {
    const { clock, deadlines } = setUp();
    const stop = new AbortController();
    const ended: string[] = [];
    void deadlines.wait(100, stop.signal).then(() => ended.push('time'));
    void deadlines.wait(200, stop.signal).then(() => ended.push('signal'));
    await deadlines.wait(1_000, AbortSignal.abort());
    await clock.advance(100);
    expect(ended).toEqual(['time']);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    stop.abort();
    await clock.advance(0);
    expect(ended).toEqual(['time', 'signal']);
    expect([deadlines.size, clock.pending(), getEventListeners(stop.signal, 'abort')]).toEqual([0, 0, []]);
    await deadlines.wait(-1, new AbortController().signal);
  });
});
