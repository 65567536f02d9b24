// Bars of runs as paths, and which segment is under the pointer.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ClosedSegment, type Mark, type PathStep, type SegmentKind, segmentKinds } from '../../src/views/timeline.ts';
import { marksToPaths, segmentAt, segmentNear, segmentsToPaths, stepsToPath } from '../../web/src/timeline/bars.ts';

const segment = (kind: SegmentKind, from: number, to: number): ClosedSegment => ({ kind, from, to, model: null, calls: [], note: '' });
const view = { range: { from: 0, to: 1000 }, width: 100 };
/** Left and right edges of the rectangles of a path. */
const edges = (d: string) => [...d.matchAll(/M([-\d.]+) [-\d.]+H([-\d.]+)/g)].map(([, left, right]) => [Number(left), Number(right)]);

describe('paths', () => {
  it('have one part per kind, at the right places', () => {
    const parts = segmentsToPaths([segment('model', 0, 200), segment('tool', 200, 500), segment('model', 500, 1000)], view);
    expect(parts.map(({ kind, d }) => [kind, edges(d)])).toEqual([
      [
        'model',
        [
          [0, 20],
          [50, 100],
        ],
      ],
      ['tool', [[20, 50]]],
    ]);
  });

  it('show calls that took no time', () => {
    const [part] = segmentsToPaths([segment('model', 300, 300)], view);
    const [[left = 0, right = 0] = []] = edges(part?.d ?? '');
    expect([left, right > left]).toEqual([30, true]);
  });

  it('leave out what is not visible', () => {
    const zoomed = { range: { from: 400, to: 600 }, width: 100 };
    const parts = segmentsToPaths([segment('queued', 0, 300), segment('model', 300, 500), segment('tool', 700, 900)], zoomed);
    expect(parts.map(({ kind, d }) => [kind, edges(d)])).toEqual([['model', [[-2, 50]]]]);
  });

  it('stay inside the bar and bounded in size, however many segments there are', () => {
    const lengths = fc.array(fc.tuple(fc.constantFrom(...segmentKinds), fc.integer({ min: 0, max: 50 })), {
      minLength: 1,
      maxLength: 3000,
    });
    fc.assert(
      fc.property(lengths, fc.integer({ min: 0, max: 900 }), (given, from) => {
        let at = 0;
        const segments = given.map(([kind, length]) => {
          at += length;
          return segment(kind, at - length, at);
        });
        for (const { d } of segmentsToPaths(segments, { range: { from, to: from + 100 }, width: 200 })) {
          const found = edges(d);
          expect(found.length).toBeLessThan(280);
          for (const [left = 0, right = 0] of found) {
            expect(left).toBeGreaterThanOrEqual(-2);
            expect(right).toBeGreaterThan(left);
            expect(right).toBeLessThanOrEqual(204);
          }
        }
      }),
      { numRuns: 50 },
    );
  });

  it('mark the critical path and what happened', () => {
    const step = (from: number, to: number) => ({ from, to, kind: 'model', runId: 'a' }) as PathStep;
    expect(edges(stepsToPath([step(0, 100), step(300, 1000)], view))).toEqual([
      [0, 10],
      [30, 100],
    ]);
    const mark = (kind: Mark['kind'], at: number): Mark => ({ kind, at, seq: 1, text: '' });
    const paths = marksToPaths([mark('failure', 500), mark('failure', 501), mark('message', 500), mark('failure', 900)], view);
    expect(paths.map(({ kind, d }) => [kind, d.match(/M/g)?.length])).toEqual([
      ['failure', 2],
      ['message', 1],
    ]);
    expect(marksToPaths([mark('failure', 2000)], view)).toEqual([]);
  });
});

describe('the segment under the pointer', () => {
  const segments = [segment('children', 0, 400), segment('model', 400, 401), segment('children', 401, 1000)];

  it('is the one at that time', () => {
    expect([segmentAt(segments, 0), segmentAt(segments, 400), segmentAt(segments, 1000), segmentAt(segments, 1001)]).toEqual([
      0,
      1,
      2,
      null,
    ]);
    expect(segmentAt([], 0)).toBeNull();
  });

  it('is a short call nearby rather than the wait around it', () => {
    expect([segmentNear(segments, 390, 10), segmentNear(segments, 415, 10), segmentNear(segments, 300, 10)]).toEqual([1, 1, 0]);
    expect(segmentNear(segments, 390, 1)).toBe(0);
  });
});
