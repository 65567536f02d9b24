import { memo, type ReactNode } from 'react';
import { isLive } from '../../../../src/contract/run-status.ts';
import type { LiveRun } from '../../../../src/contract/view.ts';
import { formatDuration } from '../../../../src/views/format.ts';
import type { LiveState } from '../../../../src/views/live-state.ts';
import { displayName, elapsedTime, formatTurn, hasProblems, isLate } from '../../../../src/views/run-row.ts';
import type { TreeRow } from '../../../../src/views/tree-rows.ts';
import { useRunActions } from '../../actions/run-actions.tsx';
import { toTarget } from '../../actions/target.ts';
import { useNow } from '../../parts/clock.ts';
import { Money, Tokens } from '../../parts/figures.tsx';
import { Menu } from '../../parts/menu.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { Link, navigate } from '../../router.tsx';
import { Activity } from './activity.tsx';

interface GridRowProps {
  row: TreeRow;
  state: LiveState;
  /** The run changes in place; this tells when. */
  version: number;
  index: number;
  top: number;
  isUndriven: boolean;
  isActive: boolean;
  onActivate(id: string): void;
  onFold(id: string): void;
}

export const GridRow = memo(function GridRow({
  row,
  state,
  index,
  top,
  isUndriven,
  isActive,
  onActivate,
  onFold,
}: GridRowProps): ReactNode {
  const { run, opens, depth, fold, hidden, status, isMatch, place } = row;
  const isStep = opens !== run.id;
  const actions = useRunActions();
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid handles keys.
    <div
      role="row"
      className={`grid-row ${isMatch ? '' : 'is-context'}`}
      data-run={run.id}
      aria-rowindex={index + 2}
      aria-level={depth + 1}
      aria-posinset={place.at}
      aria-setsize={place.of}
      aria-expanded={fold === 'none' ? undefined : fold === 'open'}
      tabIndex={isActive ? 0 : -1}
      style={{ transform: `translateY(${top}px)` }}
      onFocus={() => onActivate(run.id)}
      onClick={(event) => {
        if ((event.target as HTMLElement).closest('a, button, [role="menu"]') !== null) return;
        if (isStep && fold !== 'none') onFold(run.id);
        else navigate(`/runs/${opens}`);
      }}
    >
      <div role="gridcell" className="cell cell-run" style={{ paddingLeft: `calc(${depth} * var(--indent))` }}>
        {fold === 'none' ? (
          <span className="fold-space" />
        ) : (
          <button
            type="button"
            className="fold"
            tabIndex={-1}
            aria-label={fold === 'open' ? 'Fold' : 'Unfold'}
            onClick={() => onFold(run.id)}
          >
            {fold === 'open' ? '▾' : '▸'}
          </button>
        )}
        <StatusMark status={status} hasProblems={hasProblems(run)} needsUser={run.questions > 0} />
        <Link to={`/runs/${opens}`} className="run-name truncate" tabIndex={-1} title={displayName(run)}>
          {displayName(run)}
        </Link>
        {hidden > 0 && <span className="muted"> +{hidden}</span>}
        <span className="run-agent muted truncate">{describeKind(row)}</span>
      </div>
      <div role="gridcell" className="cell cell-now">
        <Activity row={row} state={state} />
      </div>
      <div role="gridcell" className="cell cell-turn figure">
        {formatTurn(run)}
      </div>
      <div role="gridcell" className="cell cell-time">
        <Time run={run} />
      </div>
      <div role="gridcell" className="cell cell-tokens">
        {run.tokens > 0 && <Tokens value={run.tokens} />}
      </div>
      <div role="gridcell" className="cell cell-cost">
        {run.costUsd !== null && <Money usd={run.costUsd} />}
      </div>
      <div role="gridcell" className="cell cell-menu">
        {!isStep && (
          <Menu
            label={`Actions for ${displayName(run)}`}
            className="row-menu"
            tabIndex={-1}
            items={() => actions.items(toTarget(run, state, isUndriven))}
          >
            ⋯
          </Menu>
        )}
      </div>
    </div>
  );
});

/** The agent, or the kind of a step, unless its name says it. */
function describeKind({ run: { name, agent, kind } }: TreeRow): string {
  return name === agent || (kind === 'flow' && (agent === 'sleep' || agent === 'steps')) ? '' : (agent ?? kind);
}

/** Elapsed time, with the limit while it runs. */
function Time({ run }: { run: LiveRun }): ReactNode {
  const isTicking = isLive(run.status) && run.startedAt !== null;
  const now = useNow(isTicking);
  const limit = isTicking && run.deadline !== null ? formatDuration(run.deadline - (run.startedAt as number)) : null;
  return (
    <span className={`figure ${isLate(run, now) ? 'tone-warning tone-text' : ''}`}>
      {elapsedTime(run, now)}
      {limit !== null && <span className="muted"> / {limit}</span>}
    </span>
  );
}
