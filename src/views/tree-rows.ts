// The rows of a tree of runs on a screen: which runs are shown, in what order, after folding and filtering.
import { isLive } from '../contract/run-status.ts';
import type { LiveRun } from '../contract/view.ts';
import { formatStatus, type ShownStatus } from './format.ts';
import type { LiveState } from './live-state.ts';
import { displayName, displayStatus } from './run-row.ts';

export interface TreeRow {
  run: LiveRun;
  status: ShownStatus;
  depth: number;
  fold: 'open' | 'folded' | 'none';
  /** Runs below it that are not shown. */
  hidden: number;
  /** False for an ancestor of a run that matches the filter. */
  isMatch: boolean;
}

export interface RowOptions {
  folded: ReadonlySet<string>;
  /** Only runs that contain this text, and their ancestors. */
  filter: string;
  showEnded: boolean;
}

export interface RowData {
  state: LiveState;
  /** Roots of live trees that no living process drives. */
  undriven: ReadonlySet<string>;
  /** Ended trees of which only the root is known. */
  unloaded: ReadonlySet<string>;
}

export function listRows(data: RowData, { folded, filter, showEnded }: RowOptions): TreeRow[] {
  const { state, unloaded } = data;
  const wanted = filter.trim().toLowerCase();
  const matching = wanted === '' ? null : findMatches(data, wanted);
  const rows: TreeRow[] = [];
  const visit = (run: LiveRun, depth: number, isUndriven: boolean) => {
    if (matching !== null && !matching.has(run.id)) return;
    const isFoldable = run.children.length > 0 || unloaded.has(run.id);
    const isFolded = isFoldable && (unloaded.has(run.id) || (matching === null && folded.has(run.id)));
    rows.push({
      run,
      depth,
      status: shownStatus(run, state, isUndriven),
      fold: isFoldable ? (isFolded ? 'folded' : 'open') : 'none',
      hidden: isFolded ? countBelow(run, state) : 0,
      isMatch: matching === null || (matching.get(run.id) ?? false),
    });
    if (!isFolded) for (const id of run.children) visit(state.runs.get(id) as LiveRun, depth + 1, isUndriven);
  };
  for (const id of state.roots) if (showEnded || !unloaded.has(id)) visit(state.runs.get(id) as LiveRun, 0, data.undriven.has(id));
  return rows;
}

/** A live run of a tree without a process is interrupted, unless it was paused in order. */
export function shownStatus(run: LiveRun, state: LiveState, isUndriven: boolean): ShownStatus {
  const status = displayStatus(run, state);
  return isUndriven && isLive(run.status) && status !== 'paused' ? 'interrupted' : status;
}

/** Matching runs and their ancestors; the value tells which match themselves. */
function findMatches({ state, undriven }: RowData, wanted: string): Map<string, boolean> {
  const found = new Map<string, boolean>();
  const visit = (run: LiveRun, isUndriven: boolean): boolean => {
    const below = run.children.map((id) => visit(state.runs.get(id) as LiveRun, isUndriven)).some(Boolean);
    const status = shownStatus(run, state, isUndriven);
    const texts = [
      displayName(run),
      run.name,
      run.agent ?? '',
      run.task,
      run.id,
      formatStatus(status),
      ...run.tools.map(({ text }) => text),
    ];
    const isMatch = texts.some((text) => text.toLowerCase().includes(wanted));
    if (isMatch || below) found.set(run.id, isMatch);
    return isMatch || below;
  };
  for (const id of state.roots) visit(state.runs.get(id) as LiveRun, undriven.has(id));
  return found;
}

function countBelow(run: LiveRun, state: LiveState): number {
  return run.children.reduce((sum, id) => sum + 1 + countBelow(state.runs.get(id) as LiveRun, state), 0);
}
