// The rows of the timeline under a common axis. Only the rows on the screen are drawn.
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { ShownStatus } from '../../../src/views/format.ts';
import { type Lane, laneSegments, type Moment, type PathStep, sumByKind } from '../../../src/views/timeline.ts';
import { Axis, Overview } from './axis.tsx';
import { pathMiddle, rowHeight, segmentNear } from './bars.ts';
import { describeBar } from './describe.ts';
import { Details, marksBetween } from './details.tsx';
import type { CriticalPath } from './model.ts';
import { Row } from './row.tsx';
import { type Range, toTime, toX, visibleRange, type Zoom } from './scale.ts';
import { timeTicks } from './ticks.ts';
import { usePlotPointer } from './use-pointer.ts';

export interface Active {
  runId: string;
  /** The index of a segment; null for the whole run. */
  segment: number | null;
}

export interface PlotProps {
  rows: Lane[];
  path: CriticalPath;
  moment: Moment;
  /** Changes when the timeline does. */
  version: number;
  full: Range;
  zoom: Zoom;
  setZoom(next: Zoom): void;
  folded: ReadonlySet<string>;
  onFold(runId: string): void;
  isPathOnly: boolean;
  active: Active | null;
  setActive(next: Active | null): void;
  onOpen(runId: string): void;
  onKey(event: KeyboardEvent): void;
  statusOf(lane: Lane): ShownStatus;
  width: number;
  setWidth(width: number): void;
}

const labelHeight = 22;

export function Plot(props: PlotProps): ReactNode {
  const { rows, path, moment, full, zoom, setZoom, folded, onFold, isPathOnly, active, setActive, onOpen, onKey, statusOf, width } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const area = useRef<HTMLDivElement>(null);
  const head = useRef<HTMLDivElement>(null);
  const { left, isStacked } = usePlotSize(head, area, props.setWidth);
  const height = isStacked ? rowHeight + labelHeight : rowHeight;
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => height, overscan: 6 });
  const range = visibleRange(zoom, full);
  const items = virtual.getVirtualItems();
  const top = items[0]?.start ?? 0;
  const bottom = items.at(-1)?.end ?? 0;
  const { from, to } = range;
  const view = useMemo(() => ({ range: { from, to }, width }), [from, to, width]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: rows are measured again when their height changes.
  useEffect(() => virtual.measure(), [height]);

  const activeIndex = active === null ? -1 : rows.findIndex(({ id }) => id === active.runId);
  useEffect(() => {
    if (activeIndex >= 0) virtual.scrollToIndex(activeIndex);
  }, [activeIndex, virtual]);

  const pixelMs = (range.to - range.from) / Math.max(1, width);
  const { pointed, selection, handlers, leave } = usePlotPointer({
    ...{ area, full, zoom, width, left, setZoom },
    onPick(target, time, isTouch) {
      const runId = target.closest('[data-run]')?.getAttribute('data-run');
      const lane = rows.find(({ id }) => id === runId);
      if (!lane) return;
      const segment = segmentNear(laneSegments(lane, moment), time, pixelMs);
      // On a touch screen there is no hover, so the first tap shows the details.
      if (isTouch || segment === null) setActive({ runId: lane.id, segment });
      else onOpen(lane.id);
    },
  });

  const hovered = pointed?.runId == null ? undefined : rows.find(({ id }) => id === pointed.runId);
  return (
    <div className="tl-frame card">
      <div className="tl-head" ref={head}>
        <div className="tl-corner muted">Critical path</div>
        <div className="tl-plot">
          <Overview steps={path.steps} {...{ full, zoom, width, setZoom }} visible={range} />
          <Axis range={range} width={width} start={full.from} />
        </div>
      </div>
      <div
        ref={scroller}
        className="tl-scroll"
        role="tree"
        aria-label="Timeline, one bar per run"
        tabIndex={0}
        {...(active !== null && activeIndex >= 0 ? { 'aria-activedescendant': rowId(active.runId) } : {})}
        onKeyDown={(event) => {
          leave();
          onKey(event);
        }}
      >
        <div ref={area} className="tl-rows" style={{ height: virtual.getTotalSize() }} {...handlers}>
          <Grid {...{ range, left, width, top, bottom }} start={full.from} />
          {items.map(({ index, start }) => {
            const lane = rows[index] as Lane;
            const segments = laneSegments(lane, moment);
            const steps = path.byRun.get(lane.id) ?? noSteps;
            const isActive = active?.runId === lane.id;
            const onPath = steps.reduce((sum, { from, to }) => sum + to - from, 0);
            return (
              <Row
                key={lane.id}
                id={rowId(lane.id)}
                {...{ lane, segments, steps, view, isActive, isPathOnly, onFold }}
                top={start}
                status={statusOf(lane)}
                description={describeBar(lane, sumByKind(segments), onPath)}
                isFolded={folded.has(lane.id)}
                chosen={isActive ? active.segment : null}
              />
            );
          })}
          {!isStacked && <PathLinks {...{ path, rows, range, left, width, top, bottom }} />}
          {selection && <div className="tl-selection" style={{ left: left + selection.from, width: selection.to - selection.from }} />}
          {pointed && !selection && <div className="tl-cursor" style={{ left: left + pointed.x }} />}
        </div>
      </div>
      {pointed && hovered && !selection && (
        <Tooltip lane={hovered} moment={moment} time={toTime(pointed.x, range, width)} pixelMs={pixelMs} start={full.from} at={pointed} />
      )}
    </div>
  );
}

const noSteps: PathStep[] = [];

function rowId(runId: string): string {
  return `tl-${runId}`;
}

/** Measures the plot. On a narrow screen the name of a run is above its bar. */
function usePlotSize(head: RefObject<HTMLElement | null>, area: RefObject<HTMLElement | null>, setWidth: (width: number) => void) {
  const [size, setSize] = useState({ left: 0, isStacked: false });
  useLayoutEffect(() => {
    const plot = head.current?.querySelector('.tl-plot');
    if (!head.current || !plot) return;
    const measure = () => {
      const { left, width } = plot.getBoundingClientRect();
      const isStacked = window.matchMedia('(max-width: 40rem)').matches;
      setWidth(Math.max(50, Math.floor(width)));
      setSize({ left: Math.round(left - (area.current?.getBoundingClientRect().left ?? left)), isStacked });
    };
    const observer = new ResizeObserver(measure);
    observer.observe(plot);
    measure();
    return () => observer.disconnect();
  }, [head, area, setWidth]);
  return size;
}

/** What is drawn behind or over the rows: only between `top` and `bottom`, since a large tree is tens of thousands of pixels high. */
interface LayerProps {
  range: Range;
  left: number;
  width: number;
  top: number;
  bottom: number;
}

/** Vertical lines at the ticks of the axis. */
function Grid({ range, left, width, top, bottom, start }: LayerProps & { start: number }): ReactNode {
  const ticks = timeTicks({ from: range.from - start, to: range.to - start }, width);
  const d = ticks.map(({ at }) => `M${toX(at + start, range, width).toFixed(1)} 0V${bottom - top}`).join('');
  return (
    <svg className="tl-grid" style={{ left, top }} width={width} height={bottom - top} aria-hidden="true">
      <path d={d} />
    </svg>
  );
}

/** Vertical lines where the critical path goes from one run to another. A line that begins and ends outside of the view says nothing. */
function PathLinks({ path, rows, range, left, width, top, bottom }: LayerProps & Pick<PlotProps, 'path' | 'rows'>): ReactNode {
  const yOf = useMemo(() => new Map(rows.map(({ id }, i) => [id, i * rowHeight + pathMiddle])), [rows]);
  const isVisible = (y: number) => y >= top && y <= bottom;
  const clamp = (y: number) => Math.min(Math.max(y, top), bottom);
  const d: string[] = [];
  for (const [i, step] of path.steps.entries()) {
    const next = path.steps[i + 1];
    if (!next || next.runId === step.runId || step.to < range.from || step.to > range.to) continue;
    const [begin, end] = [yOf.get(step.runId), yOf.get(next.runId)];
    if (begin === undefined || end === undefined || !(isVisible(begin) || isVisible(end))) continue;
    d.push(`M${toX(step.to, range, width).toFixed(1)} ${clamp(begin) - top}V${clamp(end) - top}`);
  }
  return (
    <svg className="tl-links" style={{ left, top }} width={width} height={bottom - top} aria-hidden="true">
      <path d={d.join('')} />
    </svg>
  );
}

interface TooltipProps {
  lane: Lane;
  moment: Moment;
  time: number;
  pixelMs: number;
  start: number;
  at: { clientX: number; clientY: number };
}

function Tooltip({ lane, moment, time, pixelMs, start, at }: TooltipProps): ReactNode {
  const segments = laneSegments(lane, moment);
  const index = segmentNear(segments, time, pixelMs);
  const segment = index === null ? undefined : segments[index];
  if (!segment) return null;
  const isRight = at.clientX > window.innerWidth / 2;
  const isLow = at.clientY > window.innerHeight / 2;
  return (
    <div
      className="tl-tooltip"
      style={{
        ...(isRight ? { right: window.innerWidth - at.clientX + 12 } : { left: at.clientX + 12 }),
        ...(isLow ? { bottom: window.innerHeight - at.clientY + 12 } : { top: at.clientY + 12 }),
      }}
    >
      <Details {...{ lane, segment, start }} marks={marksBetween(lane.marks, time - 5 * pixelMs, time + 5 * pixelMs)} />
    </div>
  );
}
