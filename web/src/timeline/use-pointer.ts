// Mouse, pen and touch on the plot: drag to choose a range, wheel with Ctrl to zoom, horizontal wheel or one finger to pan, two fingers to zoom.
import { type PointerEvent, type RefObject, useEffect, useRef, useState } from 'react';
import { panBy, type Range, rangeToZoom, toTime, visibleRange, type Zoom, zoomAround } from './scale.ts';

export interface PlotPointerOptions {
  /** The element that contains all rows. */
  area: RefObject<HTMLElement | null>;
  full: Range;
  zoom: Zoom;
  /** Pixels of the plot, and where it begins in the area. */
  width: number;
  left: number;
  setZoom(next: Zoom): void;
  /** A click or tap that was not a drag. */
  onPick(target: Element, time: number, isTouch: boolean): void;
}

export interface Pointed {
  /** Pixels from the left of the plot, and from the top of the window. */
  x: number;
  clientX: number;
  clientY: number;
  runId: string | null;
}

export interface PlotPointer {
  /** Forgets where the mouse is, until it moves. */
  leave(): void;
  /** Where a mouse is over the plot. */
  pointed: Pointed | null;
  /** The range that is being chosen, in pixels of the plot. */
  selection: { from: number; to: number } | null;
  handlers: {
    onPointerDown(event: PointerEvent): void;
    onPointerMove(event: PointerEvent): void;
    onPointerUp(event: PointerEvent): void;
    onPointerCancel(event: PointerEvent): void;
    onPointerLeave(event: PointerEvent): void;
  };
}

const clickPixels = 4;
/** A notch of a wheel is 100 to 120; a trackpad sends many small values. */
const wheelZoom = 0.0025;

export function usePlotPointer(options: PlotPointerOptions): PlotPointer {
  const latest = useRef(options);
  latest.current = options;
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [selection, setSelection] = useState<{ from: number; to: number } | null>(null);
  const drag = useRef<{ id: number; target: Element; x: number; isTouch: boolean; hasMoved: boolean } | null>(null);
  const touches = useRef(new Map<number, number>());
  const { area } = options;

  const plotX = (event: PointerEvent) => placeInPlot(event, latest.current);

  useEffect(() => {
    const element = area.current;
    if (!element) return;
    // React's own listener cannot prevent that the page scrolls or zooms.
    const turn = (event: WheelEvent) => {
      const { full, zoom, width, setZoom } = latest.current;
      const range = visibleRange(zoom, full);
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const lines = event.deltaMode === 1 ? 30 : 1;
        setZoom(
          zoomAround(zoom, full, {
            factor: Math.exp(event.deltaY * lines * wheelZoom),
            at: toTime(placeInPlot(event, latest.current), range, width),
          }),
        );
        return;
      }
      const delta = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
      if (zoom === null || Math.abs(delta) <= (event.shiftKey ? 0 : Math.abs(event.deltaY))) return;
      event.preventDefault();
      setZoom(panBy(zoom, full, (delta / width) * (range.to - range.from)));
    };
    element.addEventListener('wheel', turn, { passive: false });
    return () => element.removeEventListener('wheel', turn);
  }, [area]);

  function point(event: PointerEvent): void {
    const target = (event.target as Element).closest('[data-plot]');
    const runId = target?.closest('[data-run]')?.getAttribute('data-run') ?? null;
    setPointed(target && event.pointerType === 'mouse' ? { x: plotX(event), clientX: event.clientX, clientY: event.clientY, runId } : null);
  }

  function moveTouches(event: PointerEvent): void {
    const { full, zoom, width, setZoom } = latest.current;
    const range = visibleRange(zoom, full);
    const before = [...touches.current.values()];
    const x = plotX(event);
    const previous = touches.current.get(event.pointerId) ?? x;
    touches.current.set(event.pointerId, x);
    const now = [...touches.current.values()];
    if (now.length === 1) {
      setZoom(panBy(zoom, full, ((previous - x) / width) * (range.to - range.from)));
      return;
    }
    const spread = (places: number[]) => Math.max(20, Math.abs((places[0] as number) - (places[1] as number)));
    const middle = ((now[0] as number) + (now[1] as number)) / 2;
    setZoom(zoomAround(zoom, full, { factor: spread(before) / spread(now), at: toTime(middle, range, width) }));
  }

  function end(event: PointerEvent): void {
    const { full, zoom, width, setZoom, onPick } = latest.current;
    const started = drag.current;
    touches.current.delete(event.pointerId);
    drag.current = null;
    setSelection(null);
    if (!started || started.id !== event.pointerId) return;
    const range = visibleRange(zoom, full);
    const x = plotX(event);
    if (!started.hasMoved) onPick(started.target, toTime(x, range, width), started.isTouch);
    if (!started.hasMoved || started.isTouch) return;
    const edges = [started.x, x].toSorted((a, b) => a - b) as [number, number];
    setZoom(rangeToZoom({ from: toTime(edges[0], range, width), to: toTime(edges[1], range, width) }, full));
  }

  return {
    leave: () => setPointed(null),
    pointed,
    selection,
    handlers: {
      onPointerDown(event) {
        if (event.button !== 0 || !(event.target as Element).closest('[data-plot]')) return;
        const isTouch = event.pointerType === 'touch';
        const x = plotX(event);
        if (isTouch) touches.current.set(event.pointerId, x);
        if (drag.current === null) drag.current = { id: event.pointerId, target: event.target as Element, x, isTouch, hasMoved: false };
        // Two fingers are no tap.
        else drag.current.hasMoved = true;
      },
      onPointerMove(event) {
        const started = drag.current;
        if (!started) return point(event);
        const x = plotX(event);
        if (!started.hasMoved && Math.abs(x - started.x) > clickPixels) {
          started.hasMoved = true;
          event.currentTarget.setPointerCapture(event.pointerId);
        }
        if (started.isTouch) return void (started.hasMoved && moveTouches(event));
        if (!started.hasMoved) return;
        setPointed(null);
        setSelection({ from: Math.min(started.x, x), to: Math.max(started.x, x) });
      },
      onPointerUp: end,
      onPointerCancel(event) {
        touches.current.delete(event.pointerId);
        drag.current = null;
        setSelection(null);
      },
      onPointerLeave: () => setPointed(null),
    },
  };
}

/** Pixels from the left of the plot. */
function placeInPlot({ clientX }: { clientX: number }, { area, left, width }: PlotPointerOptions): number {
  const box = area.current?.getBoundingClientRect();
  return Math.min(Math.max(clientX - (box?.left ?? 0) - left, 0), width);
}
