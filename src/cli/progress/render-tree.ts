// The lines of the live display, one per run. Pure: the same state, size and time give the same lines.
import { isLive } from '../../contract/run-status.ts';
import type { LiveRun } from '../../contract/view.ts';
import { formatCost, formatCount, formatDuration, formatStatus, shortId, statusGlyph } from '../../views/format.ts';
import { type LiveState, listDepthFirst } from '../../views/live-state.ts';
import { paint, type Style, statusStyle } from '../../views/style.ts';
import { describeProblems, describeTurns, type TreeCount } from '../../views/tree-counter.ts';
import { cutToWidth, padToWidth, textWidth } from '../../views/width.ts';

export interface TreeViewport {
  columns: number;
  /** The most lines to return. */
  rows: number;
  now: number;
  colour: boolean;
}

const nameMax = 32;

export function renderTree(state: LiveState, view: TreeViewport): string[] {
  const all = listDepthFirst(state);
  const shown = all.length <= view.rows ? all : selectRuns(all, Math.max(1, view.rows - 1));
  const left = Math.min(nameMax, Math.max(0, ...shown.map((run) => 2 * run.depth + 2 + textWidth(run.name))));
  const lines = shown.map((run) => renderRun(run, state, { ...view, left }));
  if (shown.length < all.length) lines.push(paint(view.colour, 'dim', cutToWidth(`… ${all.length - shown.length} more`, view.columns)));
  return lines;
}

/** If not all fit: roots first, then running runs, then queued ones, then ended ones. */
function selectRuns(all: LiveRun[], rows: number): LiveRun[] {
  const rank = (run: LiveRun) => (run.depth === 0 ? 0 : !isLive(run.status) ? 3 : run.status === 'queued' ? 2 : 1);
  const kept = new Set(all.toSorted((a, b) => rank(a) - rank(b)).slice(0, rows));
  return all.filter((run) => kept.has(run));
}

function renderRun(run: LiveRun, state: LiveState, view: TreeViewport & { left: number }): string {
  const name = `${'  '.repeat(run.depth)}${statusGlyph[displayStatus(run, state)]} ${run.name}`;
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
  const middle = room < 6 ? '' : cutToWidth(describeActivity(run, state), room);
  // On a narrow terminal the activity is dropped first, then the end of the line.
  const parts: [string, Style | null][] = [
    [head, hasProblems(run) && run.status === 'completed' ? 'yellow' : statusStyle[run.status]],
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

/** Whole seconds while it runs, so that the line does not change at every repaint. */
function elapsedTime(run: LiveRun, now: number): string {
  if (run.startedAt === null) return '';
  if (run.endedAt !== null) return formatDuration(run.endedAt - run.startedAt);
  const seconds = Math.floor(Math.max(0, now - run.startedAt) / 1000);
  return seconds === 0 ? '0s' : formatDuration(seconds * 1000);
}

function describeActivity(run: LiveRun, state: LiveState): string {
  if (!isLive(run.status)) {
    const status = [formatStatus(run.status), describeProblems(run.problems)].filter((part) => part !== '').join(', ');
    return run.activity === '' ? status : `${status}: ${run.activity}`;
  }
  if (run.activity === 'cancelling') return run.activity;
  if (run.status === 'paused') return describePause(run);
  if (isHeldByChildren(run, state)) return `its children are paused; continue with retinue resume ${shortId(run.id)}`;
  const first = run.tools[0]?.text;
  if (first !== undefined) {
    const open = countOpenChildren(run, state);
    const more = run.tools.length > 1 ? ` (+${run.tools.length - 1})` : '';
    return open > 0 ? `${first}${more}, ${open === 1 ? '1 child' : `${open} children`} open` : first + more;
  }
  if (run.activity !== '') return run.activity;
  return run.status === 'running' ? 'thinking' : run.status;
}

function describePause({ id, activity, resumesItself }: LiveRun): string {
  const reason = activity === '' ? 'paused' : `paused: ${activity}`;
  return resumesItself ? reason : `${reason}; continue with retinue resume ${shortId(id)}`;
}

/** It waits for children, and every open one is paused. */
function isHeldByChildren(run: LiveRun, state: LiveState): boolean {
  const open = run.children.map((id) => state.runs.get(id) as LiveRun).filter(({ status }) => isLive(status));
  return run.status === 'running' && run.tools.length > 0 && open.length > 0 && open.every(({ status }) => status === 'paused');
}

function hasProblems({ problems: { failed, denied } }: LiveRun): boolean {
  return failed + denied > 0;
}

/** Tokens and cost are those of a run with its descendants, so turns are, too. */
function describeTurn(run: LiveRun, state: LiveState): string {
  if (run.children.length === 0) return run.turn > 0 ? `turn ${run.turn}` : '';
  return describeTurns(countTree(run, state));
}

function countTree(run: LiveRun, state: LiveState): TreeCount {
  const below = run.children.map((id) => countTree(state.runs.get(id) as LiveRun, state));
  return { runs: 1 + below.reduce((sum, each) => sum + each.runs, 0), turns: run.turn + below.reduce((sum, each) => sum + each.turns, 0) };
}

function displayStatus(run: LiveRun, state: LiveState): LiveRun['status'] {
  if (isHeldByChildren(run, state)) return 'paused';
  return run.status === 'running' && run.tools.length > 0 && countOpenChildren(run, state) > 0 ? 'waiting' : run.status;
}

function countOpenChildren(run: LiveRun, state: LiveState): number {
  return run.children.filter((id) => isLive((state.runs.get(id) as LiveRun).status)).length;
}
