// The time axis, and above it the critical path of the whole tree, which also shows and moves the visible range.
import { type PointerEvent, type ReactNode, useRef } from 'react';
import type { PathStep, SegmentKind } from '../../../src/views/timeline.ts';
import { fillOf } from './hatches.tsx';
import { panBy, type Range, rangeToZoom, toTime, toX, type Zoom } from './scale.ts';
import { timeTicks } from './ticks.ts';

/** `start`: when the tree was created. */
export function Axis({ range, width, start }: { range: Range; width: number; start: number }): ReactNode {
  const ticks = timeTicks({ from: range.from - start, to: range.to - start }, width);
  return (
    <svg className="tl-axis" width={width} height={22} aria-hidden="true">
      {ticks.map(({ at, label }) => {
        const x = toX(at + start, range, width);
        const anchor = x < 20 ? 'start' : x > width - 20 ? 'end' : 'middle';
        return (
          <g key={at}>
            <line x1={x} x2={x} y1={17} y2={22} />
            <text x={anchor === 'start' ? Math.max(0, x) : anchor === 'end' ? Math.min(width, x) : x} y={13} textAnchor={anchor}>
              {label}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

export interface OverviewProps {
  steps: PathStep[];
  full: Range;
  zoom: Zoom;
  visible: Range;
  width: number;
  setZoom(next: Zoom): void;
}

const height = 14;

export function Overview({ steps, full, zoom, visible, width, setZoom }: OverviewProps): ReactNode {
  const held = useRef<number | null>(null);
  const from = toX(visible.from, full, width);
  const to = Math.max(from + 4, toX(visible.to, full, width));
  const timeOf = (event: PointerEvent<SVGSVGElement>) =>
    toTime(event.clientX - event.currentTarget.getBoundingClientRect().left, full, width);
  return (
    <svg
      className={zoom === null ? 'tl-overview' : 'tl-overview is-zoomed'}
      width={width}
      height={height}
      aria-hidden="true"
      onPointerDown={(event) => {
        if (zoom === null) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        const time = timeOf(event);
        held.current = time;
        const length = visible.to - visible.from;
        if (time < visible.from || time > visible.to) setZoom(rangeToZoom({ from: time - length / 2, to: time + length / 2 }, full));
      }}
      onPointerMove={(event) => {
        if (held.current === null) return;
        const time = timeOf(event);
        setZoom(panBy(zoom, full, time - held.current));
        held.current = time;
      }}
      onPointerUp={() => {
        held.current = null;
      }}
      onPointerCancel={() => {
        held.current = null;
      }}
    >
      {mergeSteps(steps, full, width).map(({ kind, x, size }) => (
        <rect key={x} className={`tl-kind kind-${kind}`} {...fillOf(kind)} x={x} width={size} y={3} height={height - 6} />
      ))}
      {zoom !== null && (
        <>
          <path className="tl-outside" d={`M0 0H${from}V${height}H0zM${to} 0H${width}V${height}H${to}z`} />
          <rect className="tl-window" x={from} width={to - from} y={0.5} height={height - 1} rx={2} />
        </>
      )}
    </svg>
  );
}

/** Steps as rectangles of at least a pixel; of what falls on one pixel, the longest counts. */
function mergeSteps(steps: PathStep[], full: Range, width: number): { kind: SegmentKind; x: number; size: number }[] {
  const parts: { kind: SegmentKind; x: number; size: number; ms: number }[] = [];
  for (const { kind, from, to } of steps) {
    const x = Math.floor(toX(from, full, width));
    const end = Math.ceil(toX(to, full, width));
    const last = parts.at(-1);
    if (last?.kind === kind) Object.assign(last, { size: end - last.x, ms: last.ms + to - from });
    else if (last && x <= last.x) {
      if (to - from > last.ms) Object.assign(last, { kind, size: end - last.x, ms: to - from });
    } else {
      if (last) last.size = x - last.x;
      parts.push({ kind, x, size: Math.max(1, end - x), ms: to - from });
    }
  }
  return parts;
}
