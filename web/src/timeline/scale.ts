// The visible part of a timeline: zooming, panning, and the place of a time on the screen. Pure.

/** Milliseconds. `from` is less than `to`. */
export interface Range {
  from: number;
  to: number;
}

/** Null: the whole timeline, also while it grows. `followsEnd`: the window moves with the end of a live tree. */
export type Zoom = (Range & { followsEnd: boolean }) | null;

/** The shortest range that can be shown. Facts have times in whole milliseconds. */
export const minRangeMs = 10;

export function toX(time: number, { from, to }: Range, width: number): number {
  return ((time - from) / (to - from)) * width;
}

export function toTime(x: number, { from, to }: Range, width: number): number {
  return from + (x / Math.max(1, width)) * (to - from);
}

/** What is shown: the zoomed range inside the whole one. */
export function visibleRange(zoom: Zoom, full: Range): Range {
  if (zoom === null) return full;
  const length = Math.min(zoom.to - zoom.from, full.to - full.from);
  const to = zoom.followsEnd ? full.to : zoom.to;
  return moveInside({ from: to - length, to }, full);
}

/** The range as a zoom; null if it is (nearly) everything. */
export function rangeToZoom(range: Range, full: Range): Zoom {
  const whole = full.to - full.from;
  const middle = (range.from + range.to) / 2;
  const length = Math.max(range.to - range.from, Math.min(minRangeMs, whole));
  if (length >= whole * 0.995) return null;
  const inside = moveInside({ from: middle - length / 2, to: middle + length / 2 }, full);
  return { ...inside, followsEnd: inside.to >= full.to - whole * 1e-6 };
}

/** `factor` below 1 shows less time. The time `at` stays where it is on the screen. */
export function zoomAround(zoom: Zoom, full: Range, { factor, at }: { factor: number; at: number }): Zoom {
  const { from, to } = visibleRange(zoom, full);
  const center = Math.min(Math.max(at, from), to);
  const length = Math.max((to - from) * factor, Math.min(minRangeMs, full.to - full.from));
  const share = (center - from) / (to - from);
  const begin = center - share * length;
  return rangeToZoom({ from: begin, to: begin + length }, full);
}

export function panBy(zoom: Zoom, full: Range, ms: number): Zoom {
  if (zoom === null) return null;
  const { from, to } = visibleRange(zoom, full);
  return rangeToZoom({ from: from + ms, to: to + ms }, full);
}

function moveInside({ from, to }: Range, full: Range): Range {
  if (from < full.from) return { from: full.from, to: Math.min(full.to, full.from + (to - from)) };
  if (to > full.to) return { from: Math.max(full.from, full.to - (to - from)), to: full.to };
  return { from, to };
}
