// The visible part of a timeline, and the ticks of its axis.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { minRangeMs, panBy, rangeToZoom, toTime, toX, visibleRange, type Zoom, zoomAround } from '../../web/src/timeline/scale.ts';
import { formatTick, tickStep, timeTicks } from '../../web/src/timeline/ticks.ts';

const full = { from: 1000, to: 11_000 };

describe('zoom', () => {
  it('keeps the time under the pointer where it is', () => {
    const zoom = zoomAround(null, full, { factor: 0.5, at: 3000 });
    expect(zoom).toEqual({ from: 2000, to: 7000, followsEnd: false });
    expect(toX(3000, visibleRange(zoom, full), 100)).toBe(toX(3000, full, 100));
  });

  it('is gone when everything is visible again', () => {
    expect(zoomAround({ from: 2000, to: 7000, followsEnd: false }, full, { factor: 4, at: 3000 })).toBeNull();
    expect(rangeToZoom({ from: 0, to: 20_000 }, full)).toBeNull();
  });

  it('never leaves the timeline and never gets too short', () => {
    const range = fc.record({ from: fc.integer({ min: -5000, max: 20_000 }), length: fc.integer({ min: 0, max: 30_000 }) });
    const change = fc.oneof(
      fc.record({ factor: fc.double({ min: 0.01, max: 100, noNaN: true }), at: fc.integer({ min: -1000, max: 12_000 }) }),
      fc.integer({ min: -20_000, max: 20_000 }),
    );
    fc.assert(
      fc.property(range, fc.array(change, { maxLength: 10 }), ({ from, length }, changes) => {
        let zoom: Zoom = rangeToZoom({ from, to: from + length }, full);
        for (const each of changes) zoom = typeof each === 'number' ? panBy(zoom, full, each) : zoomAround(zoom, full, each);
        const shown = visibleRange(zoom, full);
        expect(shown.from).toBeGreaterThanOrEqual(full.from);
        expect(shown.to).toBeLessThanOrEqual(full.to + 1e-6);
        expect(shown.to - shown.from).toBeGreaterThanOrEqual(minRangeMs - 1e-6);
      }),
    );
  });

  it('follows the end of a live tree if it showed the end', () => {
    const atEnd = rangeToZoom({ from: 9000, to: 11_000 }, full);
    const inside = rangeToZoom({ from: 5000, to: 7000 }, full);
    const later = { from: 1000, to: 15_000 };
    expect(visibleRange(atEnd, later)).toEqual({ from: 13_000, to: 15_000 });
    expect(visibleRange(inside, later)).toEqual({ from: 5000, to: 7000 });
    expect(visibleRange(null, later)).toEqual(later);
  });

  it('pans without changing the length, and stops at the ends', () => {
    const zoom = rangeToZoom({ from: 5000, to: 7000 }, full);
    expect(panBy(zoom, full, 1000)).toMatchObject({ from: 6000, to: 8000 });
    expect(panBy(zoom, full, -99_999)).toMatchObject({ from: 1000, to: 3000 });
    expect(panBy(zoom, full, 99_999)).toMatchObject({ from: 9000, to: 11_000, followsEnd: true });
    expect(panBy(null, full, 1000)).toBeNull();
  });

  it('shows a timeline that is shorter than the shortest zoom', () => {
    const short = { from: 0, to: 1 };
    expect(zoomAround(null, short, { factor: 0.5, at: 0 })).toBeNull();
    expect(visibleRange(null, short)).toEqual(short);
  });

  it('turns places into times and back', () => {
    expect(toTime(toX(2500, full, 640), full, 640)).toBeCloseTo(2500);
  });
});

describe('ticks', () => {
  it.each([
    [100, 800, '20ms'],
    [5000, 800, '1s'],
    [65_000, 800, '10s'],
    [600_000, 800, '2m'],
    [36_000_000, 800, '2h'],
    [86_400_000 * 30, 800, '5d'],
  ])('%d ms in %d pixels are %s apart', (ms, width, label) => {
    const [, first] = timeTicks({ from: 0, to: ms }, width);
    expect(first?.label).toBe(label);
  });

  it('have room for their labels, and each label once', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10 ** 9 }),
        fc.integer({ min: 1, max: 10 ** 10 }),
        fc.integer({ min: 50, max: 3000 }),
        (from, ms, width) => {
          const ticks = timeTicks({ from, to: from + ms }, width);
          for (const [i, tick] of ticks.entries()) {
            expect(tick.at).toBeGreaterThanOrEqual(from);
            expect(tick.at).toBeLessThanOrEqual(from + ms);
            if (i > 0) expect(((tick.at - (ticks[i - 1]?.at as number)) / ms) * width).toBeGreaterThanOrEqual(89.999);
          }
          expect(new Set(ticks.map(({ label }) => label)).size).toBe(ticks.length);
          expect(ticks.length).toBeLessThanOrEqual(width / 89 + 1);
        },
      ),
    );
  });

  it.each([
    [0, 1000, '0'],
    [250, 50, '250ms'],
    [1500, 500, '1.5s'],
    [60_000, 10_000, '1m'],
    [90_000, 30_000, '1m 30s'],
    [61_250, 10, '1m 1.25s'],
    [3_900_000, 300_000, '1h 5m'],
    [90_000_000, 3_600_000, '1d 1h'],
  ])('%d ms at a step of %d is %s', (ms, step, text) => {
    expect(formatTick(ms, step)).toBe(text);
  });

  it('are absent without room', () => {
    expect([timeTicks({ from: 0, to: 100 }, 0), timeTicks({ from: 5, to: 5 }, 100)]).toEqual([[], []]);
    expect(tickStep(86_400_000 * 400, 100, 90)).toBeGreaterThanOrEqual(86_400_000 * 360);
  });
});
