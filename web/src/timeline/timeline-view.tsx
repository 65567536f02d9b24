// The timeline with its controls: what is zoomed, folded and chosen.
import { type KeyboardEvent, type ReactNode, useCallback, useMemo, useState } from 'react';
import type { ShownStatus } from '../../../src/views/format.ts';
import { type Lane, laneSegments, type MarkKind, type Moment, type SegmentKind } from '../../../src/views/timeline.ts';
import { Button } from '../parts/button.tsx';
import { Link, navigate, setQuery, useRoute } from '../router.tsx';
import { usePageKeys } from '../shell/shortcuts.ts';
import { formatSpan } from './describe.ts';
import { Details, marksBetween } from './details.tsx';
import { Legend } from './legend.tsx';
import { fullRange, listRows, readPath } from './model.ts';
import { type Active, Plot } from './plot.tsx';
import { rangeToZoom, visibleRange, type Zoom, zoomAround } from './scale.ts';
import type { TimelineState } from './store.ts';
import { LongestTable, PathTable } from './tables.tsx';
import { formatTick } from './ticks.ts';
import { useActiveKeys } from './use-keys.ts';
import { useTreeClock } from './use-timeline.ts';

export function TimelineView({ state, root, isDriven }: { state: TimelineState; root: Lane; isDriven: boolean }): ReactNode {
  const { timeline, version, aheadMs, isComplete } = state;
  const isPathOnly = useRoute().query.get('path') === '1';
  const [zoom, setZoom] = useState<Zoom>(null);
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState<Active | null>(null);
  const [width, setWidth] = useState(800);
  const isLive = root.endedAt === null;
  const wholeMs = (root.endedAt ?? timeline.lastAt) - root.createdAt;
  const pixelMs = (zoom === null ? wholeMs : zoom.to - zoom.from) / width;
  const clock = useTreeClock(isLive && isComplete, { aheadMs, pixelMs });
  // While facts are still loading, nothing is known of the time after the last one.
  const now = isComplete ? clock : timeline.lastAt;
  const moment = useMemo<Moment>(() => ({ now, isDriven, lastAt: timeline.lastAt }), [now, isDriven, timeline.lastAt]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the timeline changes in place, and its version with it.
  const path = useMemo(() => readPath(timeline, root.id, moment), [timeline, version, root, moment]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  const rows = useMemo(() => listRows(timeline, { folded, isPathOnly, path }), [timeline, version, folded, isPathOnly, path]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  const used = useMemo(() => usedKinds(timeline.lanes.values(), moment), [timeline, version, isDriven]);
  const full = fullRange(root, moment);
  const range = visibleRange(zoom, full);

  const onFold = useCallback((runId: string) => setFolded((old) => toggle(old, runId)), []);
  const onOpen = useCallback((runId: string) => navigate(`/runs/${runId}`), []);
  const statusOf = useCallback((lane: Lane) => shownStatus(lane, isDriven), [isDriven]);
  const zoomBy = (factor: number) =>
    setZoom(zoomAround(zoom, full, { factor, at: zoomCenter(range, timeline.lanes.get(active?.runId ?? ''), active, moment) }));
  usePageKeys((key) => {
    if (key === '+' || key === '=') zoomBy(0.5);
    if (key === '-') zoomBy(2);
    if (key === '0') setZoom(null);
    if (key === 'p') setQuery({ path: isPathOnly ? null : '1' });
  });
  const press = useActiveKeys({ rows, active, setActive, folded, onFold, onOpen, full, zoom, setZoom, moment });

  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  const parents = useMemo(
    () => [...timeline.lanes.values()].filter((lane) => lane.children.length > 0 && lane.depth > 0),
    [timeline, version],
  );
  const chosenLane = active ? timeline.lanes.get(active.runId) : undefined;
  return (
    <>
      <div className="tl-toolbar">
        <fieldset className="tl-zoom" aria-label="Zoom">
          <Button size="small" aria-label="Zoom out" title="Zoom out (-)" onClick={() => zoomBy(2)}>
            −
          </Button>
          <Button size="small" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoomBy(0.5)}>
            +
          </Button>
          <Button
            size="small"
            title="Show everything (0)"
            disabledReason={zoom === null ? 'Everything is visible.' : null}
            onClick={() => setZoom(null)}
          >
            Reset
          </Button>
        </fieldset>
        <span className="figure muted tl-range" role="status">
          {zoom === null
            ? formatSpan(full.to - full.from)
            : `${formatEdge(range.from - full.from, pixelMs)} – ${formatEdge(range.to - full.from, pixelMs)} of ${formatSpan(full.to - full.from)}`}
        </span>
        <label className="tl-toggle">
          <input type="checkbox" checked={isPathOnly} onChange={() => setQuery({ path: isPathOnly ? null : '1' })} />
          Critical path only
        </label>
        {parents.length > 0 && (
          <Button
            size="small"
            variant="quiet"
            onClick={() => setFolded(folded.size === 0 ? new Set(parents.map(({ id }) => id)) : new Set())}
          >
            {folded.size === 0 ? 'Fold all' : 'Unfold all'}
          </Button>
        )}
        <span className="tl-hint muted">Drag to zoom · Ctrl + wheel · keys + − 0</span>
      </div>
      <Legend {...used} sums={path.sums} total={full.to - full.from} />
      <Plot
        {...{
          rows,
          path,
          moment,
          version,
          full,
          zoom,
          setZoom,
          folded,
          onFold,
          isPathOnly,
          active,
          setActive,
          onOpen,
          statusOf,
          width,
          setWidth,
        }}
        onKey={(event: KeyboardEvent) => press(event)}
      />
      <div className="tl-chosen-details" aria-live="polite">
        {active && chosenLane && (
          <ActiveDetails
            lane={chosenLane}
            active={active}
            moment={moment}
            start={full.from}
            onZoom={(from, to) => setZoom(rangeToZoom({ from, to }, full))}
          />
        )}
      </div>
      <PathTable {...{ path, timeline, version, isLive }} start={full.from} />
      <LongestTable {...{ timeline, version, moment }} start={full.from} />
    </>
  );
}

function toggle(old: ReadonlySet<string>, id: string): Set<string> {
  const next = new Set(old);
  if (!next.delete(id)) next.add(id);
  return next;
}

function shownStatus({ status, state }: Lane, isDriven: boolean): ShownStatus {
  if (status !== null) return status;
  if (state.isPaused) return 'paused';
  if (!isDriven || state.lostAt !== null) return 'interrupted';
  if (!state.isStarted) return 'queued';
  return state.model !== null || [...state.calls.values()].some((call) => !call.isWait && !call.needsApproval) ? 'running' : 'waiting';
}

function usedKinds(lanes: Iterable<Lane>, moment: Moment): { kinds: Set<SegmentKind>; marks: Set<MarkKind> } {
  const kinds = new Set<SegmentKind>();
  const marks = new Set<MarkKind>();
  for (const lane of lanes) {
    for (const { kind } of laneSegments(lane, moment)) kinds.add(kind);
    for (const { kind } of lane.marks) marks.add(kind);
  }
  return { kinds, marks };
}

/** Keys and buttons zoom around the chosen segment, otherwise around the middle. */
function zoomCenter(range: { from: number; to: number }, lane: Lane | undefined, active: Active | null, moment: Moment): number {
  const segment = lane && active?.segment != null ? laneSegments(lane, moment)[active.segment] : undefined;
  const middle = segment ? (segment.from + segment.to) / 2 : (range.from + range.to) / 2;
  return middle >= range.from && middle <= range.to ? middle : (range.from + range.to) / 2;
}

function formatEdge(ms: number, pixelMs: number): string {
  const step = pixelMs > 100 ? 1_000 : pixelMs > 1 ? 100 : 1;
  return formatTick(Math.round(ms / step) * step, step);
}

interface ActiveDetailsProps {
  lane: Lane;
  active: Active;
  moment: Moment;
  start: number;
  onZoom(from: number, to: number): void;
}

function ActiveDetails({ lane, active, moment, start, onZoom }: ActiveDetailsProps): ReactNode {
  const segments = laneSegments(lane, moment);
  const segment = active.segment === null ? undefined : segments[active.segment];
  const end = segments.at(-1)?.to ?? lane.createdAt;
  const margin = segment ? Math.max(5, (segment.to - segment.from) * 0.25) : 0;
  return (
    <div className="card tl-card">
      {segment ? (
        <Details {...{ lane, segment, start }} marks={marksBetween(lane.marks, segment.from, segment.to)} />
      ) : (
        <div className="tl-details-head">
          <strong>{lane.name}</strong>
          <span className="figure">{formatSpan(end - lane.createdAt)}</span>
          <span className="muted truncate">{lane.task}</span>
        </div>
      )}
      <div className="tl-card-actions">
        <Link className="button button-default button-small" to={`/runs/${lane.id}`}>
          Open the run
        </Link>
        <Button size="small" onClick={() => (segment ? onZoom(segment.from - margin, segment.to + margin) : onZoom(lane.createdAt, end))}>
          Zoom to it
        </Button>
        <span className="muted tl-hint">
          <kbd>[</kbd> <kbd>]</kbd> previous and next segment
        </span>
      </div>
    </div>
  );
}
