// The rows of a tree of runs on a screen: which runs are shown, in what order, after folding and filtering.
import { isLive } from '../contract/run-status.ts';
import type { LiveRun, LiveStep } from '../contract/view.ts';
import { formatStatus, type ShownStatus } from './format.ts';
import type { LiveState } from './live-state.ts';
import { listBelow, stepToRun } from './live-steps.ts';
import { displayName, displayStatus } from './run-row.ts';

export interface TreeRow {
  /** For a step of a flow, one that `stepToRun` made: it has the id of no run. */
  run: LiveRun;
  /** The run whose page the row opens. */
  opens: string;
  status: ShownStatus;
  depth: number;
  fold: 'open' | 'folded' | 'none';
  /** Runs and steps below it that are not shown. */
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
    const below = listBelow(run);
    const isFoldable = below.length > 0 || unloaded.has(run.id);
    const isFolded = isFoldable && (unloaded.has(run.id) || (matching === null && folded.has(run.id)));
    rows.push({
      run,
      opens: run.id,
      depth,
      status: shownStatus(run, state, isUndriven),
      fold: isFoldable ? (isFolded ? 'folded' : 'open') : 'none',
      hidden: isFolded ? countBelow(run, state) : 0,
      isMatch: matching === null || (matching.get(run.id) ?? false),
    });
    if (isFolded) return;
    for (const each of below) {
      if (typeof each === 'string') visit(state.runs.get(each) as LiveRun, depth + 1, isUndriven);
      else if (matching === null || matches(stepToRun(run, each), each.status, wanted)) addStep(run, each, depth + 1, isUndriven);
    }
  };
  const addStep = (flow: LiveRun, step: LiveStep, depth: number, isUndriven: boolean) => {
    const status = isUndriven && step.endedAt === null ? 'interrupted' : step.status;
    rows.push({ run: stepToRun(flow, step), opens: flow.id, depth, status, fold: 'none', hidden: 0, isMatch: true });
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
    const runsBelow = run.children.map((id) => visit(state.runs.get(id) as LiveRun, isUndriven)).some(Boolean);
    const below =
      runsBelow || (run.steps ?? []).some((step) => step.childId === null && matches(stepToRun(run, step), step.status, wanted));
    const isMatch = matches(run, shownStatus(run, state, isUndriven), wanted);
    if (isMatch || below) found.set(run.id, isMatch);
    return isMatch || below;
  };
  for (const id of state.roots) visit(state.runs.get(id) as LiveRun, undriven.has(id));
  return found;
}

function matches(run: LiveRun, status: ShownStatus, wanted: string): boolean {
  const texts = [displayName(run), run.name, run.agent ?? '', run.task, run.id, formatStatus(status), ...run.tools.map(({ text }) => text)];
  return texts.some((text) => text.toLowerCase().includes(wanted));
}

function countBelow(run: LiveRun, state: LiveState): number {
  return listBelow(run).reduce(
    (sum, each) => sum + 1 + (typeof each === 'string' ? countBelow(state.runs.get(each) as LiveRun, state) : 0),
    0,
  );
}
