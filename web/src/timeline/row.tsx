// One run of the timeline: its name, and its bar as a few SVG paths.
//
// SVG and not a canvas: colours follow the theme by CSS, text stays sharp and selectable, and with one path per kind a row has at most a dozen
// elements, so that the thirty rows on a screen are redrawn within a frame.
import { memo, type ReactNode } from 'react';
import type { ShownStatus } from '../../../src/views/format.ts';
import type { ClosedSegment, Lane, PathStep } from '../../../src/views/timeline.ts';
import { StatusMark } from '../parts/status.tsx';
import { Link } from '../router.tsx';
import { barHeight, barTop, boundariesToPath, marksToPaths, rowHeight, segmentsToPaths, stepsToPath, type View } from './bars.ts';
import { formatSpan } from './describe.ts';
import { fillOf } from './hatches.tsx';
import { toX } from './scale.ts';

export interface RowProps {
  id: string;
  lane: Lane;
  /** Of the lane, at the moment that is shown. */
  segments: ClosedSegment[];
  steps: PathStep[];
  view: View;
  top: number;
  status: ShownStatus;
  /** What the bar shows, for screen readers. */
  description: string;
  isFolded: boolean;
  isActive: boolean;
  /** The index of the chosen segment. */
  chosen: number | null;
  /** Only the critical path is shown: everything else is faint. */
  isPathOnly: boolean;
  onFold(id: string): void;
}

export const Row = memo(function Row(props: RowProps): ReactNode {
  const { id, lane, segments, top, status, description, isFolded, isActive, onFold } = props;
  const first = segments[0];
  const last = segments.at(-1);
  const hasChildren = lane.children.length > 0;
  return (
    <div
      id={id}
      role="treeitem"
      tabIndex={-1}
      aria-level={lane.depth + 1}
      aria-selected={isActive}
      {...(hasChildren ? { 'aria-expanded': !isFolded } : {})}
      className={isActive ? 'tl-row is-active' : 'tl-row'}
      data-run={lane.id}
      style={{ transform: `translateY(${top}px)` }}
    >
      <div className="tl-label" style={{ paddingInlineStart: `${Math.min(lane.depth, 12) * 0.875}rem` }}>
        {/* The keyboard folds the row itself. */}
        <span className="tl-fold" aria-hidden="true">
          {hasChildren && (
            <button type="button" tabIndex={-1} onClick={() => onFold(lane.id)}>
              {isFolded ? '▸' : '▾'}
            </button>
          )}
        </span>
        <StatusMark
          status={status}
          hasProblems={lane.marks.some(({ kind }) => kind === 'failure' || kind === 'denied')}
          needsUser={status === 'waiting' && last?.kind === 'approval'}
        />
        <Link to={`/runs/${lane.id}`} className="tl-name truncate" tabIndex={-1} title={lane.task}>
          {lane.name}
        </Link>
        <span className="tl-duration figure muted">{first && last ? formatSpan(last.to - first.from) : ''}</span>
        <span className="visually-hidden">{description}</span>
      </div>
      <div className="tl-plot" data-plot>
        <Bar {...props} />
      </div>
    </div>
  );
});

function Bar({ lane, segments, steps, view, chosen, isPathOnly }: RowProps): ReactNode {
  const { range, width } = view;
  const selected = chosen === null ? undefined : segments[chosen];
  return (
    <svg className="tl-bar" width={width} height={rowHeight} aria-hidden="true">
      <g className={isPathOnly ? 'is-faint' : undefined}>
        <Spans spans={segments} view={view} />
      </g>
      {isPathOnly && <Spans spans={steps} view={view} />}
      <path d={boundariesToPath(segments, view)} className="tl-boundary" />
      {steps.length > 0 && <path d={stepsToPath(steps, view)} className="tl-path" />}
      {lane.marks.length > 0 &&
        marksToPaths(lane.marks, view).map(({ kind, d }) => <path key={kind} d={d} className={`tl-mark mark-${kind}`} />)}
      {selected && (
        <rect
          className="tl-chosen"
          x={toX(selected.from, range, width) - 1}
          y={barTop - 2}
          width={Math.max(3, toX(selected.to, range, width) - toX(selected.from, range, width) + 2)}
          height={barHeight + 4}
          rx={2}
        />
      )}
    </svg>
  );
}

function Spans({ spans, view }: { spans: readonly (ClosedSegment | PathStep)[]; view: View }): ReactNode {
  return segmentsToPaths(spans, view).map(({ kind, d }) => <path key={kind} d={d} className={`tl-kind kind-${kind}`} {...fillOf(kind)} />);
}
