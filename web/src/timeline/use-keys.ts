// The keyboard on the rows of the timeline.
import type { KeyboardEvent } from 'react';
import { type Lane, laneSegments, type Moment } from '../../../src/views/timeline.ts';
import type { Active } from './plot.tsx';
import { panBy, type Range, visibleRange, type Zoom } from './scale.ts';

export interface ActiveKeysOptions {
  rows: Lane[];
  active: Active | null;
  setActive(next: Active): void;
  folded: ReadonlySet<string>;
  onFold(runId: string): void;
  onOpen(runId: string): void;
  full: Range;
  zoom: Zoom;
  setZoom(next: Zoom): void;
  moment: Moment;
}

const pageRows = 10;
const panShare = 0.2;

export function useActiveKeys(options: ActiveKeysOptions): (event: KeyboardEvent) => void {
  const { rows, active, setActive, folded, onFold, onOpen, full, zoom, setZoom, moment } = options;
  const index = rows.findIndex(({ id }) => id === active?.runId);
  const lane = rows[index];
  const go = (to: number) => {
    const target = rows[Math.min(Math.max(to, 0), rows.length - 1)];
    if (target) setActive({ runId: target.id, segment: null });
  };
  const step = (by: number) => {
    if (!lane) return go(0);
    const count = laneSegments(lane, moment).length;
    const at = active?.segment == null ? (by > 0 ? 0 : count - 1) : active.segment + by;
    if (at >= 0 && at < count) setActive({ runId: lane.id, segment: at });
  };
  const pan = (by: number) => {
    const { from, to } = visibleRange(zoom, full);
    setZoom(panBy(zoom, full, (to - from) * by));
  };
  const left = () => {
    if (!lane) return go(0);
    if (lane.children.length > 0 && !folded.has(lane.id)) return onFold(lane.id);
    const parent = rows.findIndex(({ id }) => id === lane.parentId);
    if (parent >= 0) go(parent);
  };
  const right = () => {
    if (!lane) return go(0);
    if (folded.has(lane.id)) onFold(lane.id);
    else if (lane.children.length > 0) go(index + 1);
  };
  const actions: Record<string, () => void> = {
    ArrowDown: () => go(index + 1),
    ArrowUp: () => go(index < 0 ? 0 : index - 1),
    PageDown: () => go(Math.max(0, index) + pageRows),
    PageUp: () => go(index - pageRows),
    Home: () => go(0),
    End: () => go(rows.length - 1),
    ArrowLeft: left,
    ArrowRight: right,
    '[': () => step(-1),
    ']': () => step(1),
    Enter: () => lane && onOpen(lane.id),
  };
  const shifted: Record<string, () => void> = { ArrowLeft: () => pan(-panShare), ArrowRight: () => pan(panShare) };
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = event.shiftKey ? (shifted[event.key] ?? actions[event.key]) : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };
}
