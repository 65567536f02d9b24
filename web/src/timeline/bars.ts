// The bar of one run as SVG paths: one path per kind of segment, so that a row has few elements however many segments it has. Pure.
import type { ClosedSegment, Mark, MarkKind, PathStep, SegmentKind } from '../../../src/views/timeline.ts';
import { type Range, toX } from './scale.ts';

export const rowHeight = 30;
/** Where bars are in a row. Marks are above them, the critical path is below. */
export const barTop = 9;
export const barHeight = 12;
const barMiddle = barTop + barHeight / 2;
const pathTop = barTop + barHeight + 2;
const pathHeight = 3;
export const pathMiddle = pathTop + pathHeight / 2;

/** Work is as high as the bar; waiting is a thinner line, so that kinds differ without colour too. */
const heights: Record<SegmentKind, number> = {
  model: barHeight,
  tool: barHeight,
  approval: barHeight,
  paused: barHeight - 4,
  queued: 4,
  children: 4,
  interrupted: 4,
  idle: 2,
};
/** Segments closer together than this cannot be told apart on a screen. */
const minPixels = 0.75;

export interface BarPart {
  kind: SegmentKind;
  d: string;
}

/** A segment, or a step of the critical path. */
interface Span {
  kind: SegmentKind;
  from: number;
  to: number;
}

export interface View {
  range: Range;
  width: number;
}

/** `segments`: in the order of time. */
export function segmentsToPaths(segments: readonly Span[], { range, width }: View): BarPart[] {
  const paths = new Map<SegmentKind, { d: string[]; end: number }>();
  for (let i = firstVisible(segments, range.from); i < segments.length; i++) {
    const { kind, from, to } = segments[i] as Span;
    if (from > range.to) break;
    const x0 = clampX(toX(from, range, width), width);
    const x1 = Math.max(x0 + minPixels, clampX(toX(to, range, width), width));
    const path = paths.get(kind) ?? { d: [], end: Number.NEGATIVE_INFINITY };
    paths.set(kind, path);
    if (x1 - path.end < minPixels) continue;
    path.d.push(rectangle(Math.max(x0, path.end), barMiddle - heights[kind] / 2, x1, heights[kind]));
    path.end = x1;
  }
  return [...paths].map(([kind, { d }]) => ({ kind, d: d.join('') }));
}

/** Where a segment begins inside work that follows it directly, such as a second call of the model: a thin gap. */
export function boundariesToPath(segments: ClosedSegment[], { range, width }: View): string {
  const d: string[] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (let i = firstVisible(segments, range.from); i < segments.length; i++) {
    const { from, kind } = segments[i] as ClosedSegment;
    if (from > range.to) break;
    const x = toX(from, range, width);
    const previous = segments[i - 1];
    const hasRoom = x - end > 6;
    if (previous?.kind === kind && hasRoom && from > range.from) d.push(rectangle(x - 0.5, barTop, x + 0.5, barHeight));
    if (previous?.kind === kind) end = x;
  }
  return d.join('');
}

export function stepsToPath(steps: PathStep[], { range, width }: View): string {
  const d: string[] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const { from, to } of steps) {
    if (to < range.from || from > range.to) continue;
    const x0 = clampX(toX(from, range, width), width);
    const x1 = Math.max(x0 + 1, clampX(toX(to, range, width), width));
    if (x1 - end < minPixels) continue;
    d.push(rectangle(Math.max(x0, end), pathTop, x1, pathHeight));
    end = x1;
  }
  return d.join('');
}

const shapes: Record<MarkKind, (x: number) => string> = {
  message: (x) => `M${round(x - 3)} 4a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z`,
  failure: (x) => `M${round(x - 3)} 1l6 6m0 -6l-6 6`,
  retry: (x) => `M${round(x - 3.5)} 7h7l-3.5 -6z`,
  denied: (x) => `M${round(x - 3)} 1h6v6h-6z`,
  cancel: (x) => `M${round(x)} 0.5l3.5 3.5l-3.5 3.5l-3.5 -3.5z`,
};
/** Marks of one kind that would cover each other are drawn once. */
const markPixels = 5;

export function marksToPaths(marks: Mark[], { range, width }: View): { kind: MarkKind; d: string }[] {
  const paths = new Map<MarkKind, { d: string[]; last: number }>();
  for (const { kind, at } of marks) {
    if (at < range.from || at > range.to) continue;
    const x = toX(at, range, width);
    const path = paths.get(kind) ?? { d: [], last: Number.NEGATIVE_INFINITY };
    paths.set(kind, path);
    if (x - path.last < markPixels) continue;
    path.d.push(shapes[kind](Math.min(Math.max(x, 4), width - 4)));
    path.last = x;
  }
  return [...paths].map(([kind, { d }]) => ({ kind, d: d.join('') }));
}

/** The shape of a mark for the legend, 8 pixels wide. */
export function markShape(kind: MarkKind): string {
  return shapes[kind](4);
}

/** The index of the segment at a time; null outside the run. Of several without a length, the last one. */
export function segmentAt(segments: readonly Span[], time: number): number | null {
  const first = segments[0];
  const last = segments.at(-1);
  if (!first || !last || time < first.from || time > last.to) return null;
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((segments[middle] as Span).from <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The segment at a place on the screen. A call that is too short to hit is found within two pixels, if the run only waits there. */
export function segmentNear(segments: ClosedSegment[], time: number, pixelMs: number): number | null {
  const found = segmentAt(segments, time);
  if (found === null || isWork(segments[found] as ClosedSegment)) return found;
  const reach = 2 * pixelMs;
  const first = segmentAt(segments, time - reach) ?? 0;
  for (let i = first; i < segments.length && (segments[i] as ClosedSegment).from <= time + reach; i++) {
    const segment = segments[i] as ClosedSegment;
    if (isWork(segment) && segment.to >= time - reach) return i;
  }
  return found;
}

function isWork({ kind }: ClosedSegment): boolean {
  return kind === 'model' || kind === 'tool';
}

function firstVisible(segments: readonly Span[], from: number): number {
  return segmentAt(segments, from) ?? 0;
}

function clampX(x: number, width: number): number {
  return Math.min(Math.max(x, -2), width + 2);
}

function rectangle(x0: number, y: number, x1: number, height: number): string {
  return `M${round(x0)} ${y}H${round(x1)}v${height}H${round(x0)}z`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
