// The rows of a tree of runs on a screen: which runs are shown, in what order, after folding and filtering.
import { isLive } from '../contract/run-status.ts';
import type { LiveRun, LiveStep } from '../contract/view.ts';
import { formatStatus, type ShownStatus } from './format.ts';
import type { LiveState } from './live-state.ts';
import { groupBelow, groupToRun, listBelow, stepToRun } from './live-steps.ts';
import { displayName, displayStatus } from './run-row.ts';

export interface TreeRow {
  /** For a step of a flow or a group of steps, one that was made for the row: it has the id of no run. */
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
  /** Its place among the rows with the same parent, from 1. */
  place: { at: number; of: number };
}

export interface RowOptions {
  /** Rows that are not as they begin: runs begin open, groups of completed steps folded. `toggleFold` changes it. */
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
  const isShown = (run: LiveRun, each: string | LiveStep) =>
    matching === null || (typeof each === 'string' ? matching.has(each) : matches(stepToRun(run, each), each.status, wanted));
  const visit = (run: LiveRun, depth: number, isUndriven: boolean, place: TreeRow['place']) => {
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
      place,
    });
    if (isFolded) return;
    const shown = matching === null ? groupBelow(run) : below.filter((each) => isShown(run, each));
    for (const [i, each] of shown.entries()) {
      const at = { at: i + 1, of: shown.length };
      if (typeof each === 'string') visit(state.runs.get(each) as LiveRun, depth + 1, isUndriven, at);
      else if (Array.isArray(each)) addGroup(run, each, depth + 1, at);
      else addStep(run, each, { depth: depth + 1, isUndriven, place: at });
    }
  };
  const addGroup = (flow: LiveRun, steps: LiveStep[], depth: number, place: TreeRow['place']) => {
    const run = groupToRun(flow, steps);
    const fold = folded.has(run.id) ? 'open' : 'folded';
    rows.push({ run, opens: flow.id, depth, status: 'completed', fold, hidden: 0, isMatch: true, place });
    if (fold === 'folded') return;
    for (const [i, step] of steps.entries())
      addStep(flow, step, { depth: depth + 1, isUndriven: false, place: { at: i + 1, of: steps.length }, parentId: run.id });
  };
  const addStep = (
    flow: LiveRun,
    step: LiveStep,
    { depth, isUndriven, place, parentId = flow.id }: { depth: number; isUndriven: boolean; place: TreeRow['place']; parentId?: string },
  ) => {
    const status = isUndriven && step.endedAt === null ? 'interrupted' : step.status;
    const run = { ...stepToRun(flow, step), parentId };
    rows.push({ run, opens: flow.id, depth, status, fold: 'none', hidden: 0, isMatch: true, place });
  };
  const roots = state.roots.filter((id) => (showEnded || !unloaded.has(id)) && (matching === null || matching.has(id)));
  for (const [i, id] of roots.entries()) visit(state.runs.get(id) as LiveRun, 0, data.undriven.has(id), { at: i + 1, of: roots.length });
  return rows;
}

/** Folds or unfolds a row. */
export function toggleFold(folded: Set<string>, id: string): void {
  if (!folded.delete(id)) folded.add(id);
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
