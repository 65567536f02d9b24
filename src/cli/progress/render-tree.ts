// The lines of the live display, one per run. Pure: the same state, size and time give the same lines.
import { isLive } from '../../contract/run-status.ts';
import type { LiveRun } from '../../contract/view.ts';
import { formatCost, formatCount } from '../../views/format.ts';
import { type LiveState, listDepthFirst } from '../../views/live-state.ts';
import { stepToRun } from '../../views/live-steps.ts';
import { countTree, describeActivity, displayStatus, elapsedTime, resumeCommandHint, runGlyph, runStyle } from '../../views/run-row.ts';
import { paint, type Style } from '../../views/style.ts';
import { describeTurns } from '../../views/tree-counter.ts';
import { cutToWidth, padToWidth, textWidth } from '../../views/width.ts';

export interface TreeViewport {
  columns: number;
  /** The most lines to return. */
  rows: number;
  now: number;
  colour: boolean;
}

/** Names are as wide as they need, up to this or this part of the line. */
const minNameLimit = 32;
const nameShare = 0.4;

export function renderTree(state: LiveState, view: TreeViewport): string[] {
  const all = listDepthFirst(state).flatMap((run) => [run, ...listOpenSteps(run)]);
  const shown = all.length <= view.rows ? all : selectRuns(all, Math.max(1, view.rows - 1));
  const nameLimit = Math.max(minNameLimit, Math.floor(view.columns * nameShare));
  const left = Math.min(nameLimit, Math.max(0, ...shown.map((run) => 2 * run.depth + 2 + textWidth(run.name))));
  const lines = shown.map((run) => renderRun(run, state, { ...view, left }));
  if (shown.length < all.length) lines.push(paint(view.colour, 'dim', cutToWidth(`… ${all.length - shown.length} more`, view.columns)));
  return lines;
}

/** Steps of a flow that are under way or went wrong. Those that ended well would push the runs out of sight. */
function listOpenSteps(run: LiveRun): LiveRun[] {
  const steps = (run.steps ?? []).filter(({ childId, status }) => childId === null && status !== 'completed');
  return steps.map((step) => stepToRun(run, step));
}

/** If not all fit: roots first, then running runs, then queued ones, then ended ones. */
function selectRuns(all: LiveRun[], rows: number): LiveRun[] {
  const rank = (run: LiveRun) => (run.depth === 0 ? 0 : !isLive(run.status) ? 3 : run.status === 'queued' ? 2 : 1);
  const kept = new Set(all.toSorted((a, b) => rank(a) - rank(b)).slice(0, rows));
  return all.filter((run) => kept.has(run));
}

function renderRun(run: LiveRun, state: LiveState, view: TreeViewport & { left: number }): string {
  const name = `${'  '.repeat(run.depth)}${runGlyph(run, displayStatus(run, state))} ${run.name}`;
  const figures = [
    describeTurn(run, state),
    elapsedTime(run, view.now),
    run.tokens > 0 ? `${formatCount(run.tokens)} tokens` : '',
    formatCost(run.costUsd),
    run.taint.toSorted().join(', '),
  ].filter((part) => part !== '');
  const head = padToWidth(cutToWidth(name, view.left), view.left);
  const tail = figures.join(' · ');
  const room = view.columns - textWidth(head) - 2 - (tail === '' ? 0 : textWidth(tail) + 2);
  const middle = room < 6 ? '' : cutToWidth(describeActivity(run, state, resumeCommandHint(run)), room);
  // On a narrow terminal the activity is dropped first, then the end of the line.
  const parts: [string, Style | null][] = [
    [head, runStyle(run, displayStatus(run, state))],
    [middle === '' ? '' : `  ${middle}`, null],
    [tail === '' ? '' : `  ${tail}`, 'dim'],
  ];
  let left = view.columns;
  return parts
    .map(([text, style]) => {
      const kept = cutToWidth(text, left);
      left -= textWidth(kept);
      return paint(view.colour, style, kept);
    })
    .join('');
}

/** Tokens and cost are those of a run with its descendants, so turns are, too. */
function describeTurn(run: LiveRun, state: LiveState): string {
  if (run.children.length === 0) return run.turn > 0 ? `turn ${run.turn}` : '';
  return describeTurns(countTree(run, state));
}
