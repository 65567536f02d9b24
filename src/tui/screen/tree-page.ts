// The tree of runs: one line per visible run, with the columns that fit.
import { isLive } from '../../contract/run-status.ts';
import type { LiveRun } from '../../contract/view.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { formatCost, formatCount, formatDuration, shortId, statusGlyph } from '../../views/format.ts';
import type { LiveState } from '../../views/live-state.ts';
import { describeActivity, displayName, elapsedTime, hasProblems, queuePosition, runStyle } from '../../views/run-row.ts';
import type { Style } from '../../views/style.ts';
import { describeProblems } from '../../views/tree-counter.ts';
import { cutToWidth, padToWidth, textWidth } from '../../views/width.ts';
import type { View } from './deps.ts';
import { highlight, joinParts, type Part } from './line.ts';
import type { TreeRow } from './rows.ts';

export interface TreeColumns {
  name: number;
  agent: number;
  model: number;
  turn: number;
  activity: number;
  time: number;
  tokens: number;
  cost: number;
  hasDeadline: boolean;
}

/** The terminal width from which a column is shown: the least important go first. */
const minWidth = { time: 36, turn: 50, tokens: 70, cost: 84, agent: 100, deadline: 116, model: 150 };
const gap = 2;

/** `rows`: the visible ones; columns are as wide as these need. */
export function layOutColumns(rows: TreeRow[], { columns }: Pick<View, 'columns'>): TreeColumns {
  const widest = (text: (row: TreeRow) => string, max: number) => Math.min(max, Math.max(0, ...rows.map((row) => textWidth(text(row)))));
  const fits = (column: keyof typeof minWidth, width: number) => (columns >= minWidth[column] ? width : 0);
  const hasDeadline = columns >= minWidth.deadline && rows.some(({ run }) => run.deadline !== null && run.startedAt !== null);
  const fixed = {
    agent: fits(
      'agent',
      widest(({ run }) => sanitizeLine(run.agent ?? run.kind), 16),
    ),
    model: fits(
      'model',
      widest(({ run }) => sanitizeLine(run.model ?? ''), 28),
    ),
    turn: fits(
      'turn',
      widest(({ run }) => turnText(run), 7),
    ),
    time: fits('time', hasDeadline ? 13 : 7),
    tokens: fits('tokens', rows.some(({ run }) => run.tokens > 0) ? 6 : 0),
    cost: fits('cost', rows.some(({ run }) => run.costUsd !== null) ? 7 : 0),
  };
  const used = Object.values(fixed).reduce((sum, width) => sum + (width === 0 ? 0 : width + gap), 0);
  const room = Math.max(0, columns - 1 - used);
  const longest = widest((row) => nameText(row), columns);
  const wanted = Math.min(longest, Math.max(14, Math.floor(room * 0.62)));
  const name = room - wanted - gap < 8 ? room : wanted;
  return { ...fixed, hasDeadline, name, activity: Math.max(0, room - name - gap) };
}

export function renderTitles(layout: TreeColumns, view: View): string {
  const cell = (title: string, width: number, side: 'left' | 'right' = 'left') =>
    width === 0 ? '' : ' '.repeat(gap) + padToWidth(cutToWidth(title, width), width, side);
  const text = [
    ` ${padToWidth(cutToWidth('RUN', layout.name), layout.name)}`,
    cell('AGENT', layout.agent),
    cell('MODEL', layout.model),
    cell('TURN', layout.turn, 'right'),
    cell('DOES', layout.activity),
    cell(layout.hasDeadline ? 'TIME/LIMIT' : 'TIME', layout.time, 'right'),
    cell('TOKENS', layout.tokens, 'right'),
    cell('COST', layout.cost, 'right'),
  ].join('');
  return joinParts([[text, 'dim']], view);
}

export function renderRow(row: TreeRow, state: LiveState, options: { layout: TreeColumns; isSelected: boolean; view: View }): string {
  const { layout, isSelected, view } = options;
  const { run } = row;
  const style = row.isMatch ? runStyle(run, row.status) : 'dim';
  const cell = (text: string, width: number, { side = 'left' as 'left' | 'right', as = 'dim' as Style | null } = {}): Part[] =>
    width === 0 ? [] : [[' '.repeat(gap)], [padToWidth(cutToWidth(text, width), width, side), as]];
  const parts: Part[] = [
    [isSelected ? '›' : ' '],
    [padToWidth(cutToWidth(nameText(row), layout.name), layout.name), style],
    ...cell(sanitizeLine(run.agent ?? run.kind), layout.agent),
    ...cell(sanitizeLine(run.model ?? ''), layout.model),
    ...cell(turnText(run), layout.turn, { side: 'right' }),
    ...cell(activityText(row, state), layout.activity, { as: activityStyle(row) }),
    ...cell(timeText(run, layout, view.now), layout.time, { side: 'right', as: isLate(run, view.now) ? 'yellow' : 'dim' }),
    ...cell(run.tokens > 0 ? formatCount(run.tokens) : '', layout.tokens, { side: 'right' }),
    ...cell(formatCost(run.costUsd), layout.cost, { side: 'right' }),
  ];
  return isSelected ? highlight(parts, view) : joinParts(parts, view);
}

function nameText({ run, status, depth, fold, hidden }: TreeRow): string {
  const marker = fold === 'none' ? ' ' : fold === 'folded' ? '▸' : '▾';
  return `${'  '.repeat(depth)}${marker} ${statusGlyph[status]} ${displayName(run)}${hidden > 0 ? ` (+${hidden})` : ''}`;
}

function turnText({ turn, maxTurns, kind }: LiveRun): string {
  if (kind === 'client') return '';
  return maxTurns === null ? (turn === 0 ? '' : String(turn)) : `${turn}/${maxTurns}`;
}

export function activityText({ run, status }: TreeRow, state: LiveState): string {
  if (status === 'interrupted') return 'interrupted: its process has died; P continues it';
  const queue = queuePosition(run, state);
  const text = queue === null ? describeActivity(run, state, 'P continues it') : `queued, ${queue.position} of ${queue.of}`;
  const marks = [isLive(run.status) ? describeProblems(run.problems) : '', run.taint.toSorted().join(', ')].filter((mark) => mark !== '');
  // An approval is more urgent than a mark, and the end of the text may be cut.
  return (run.questions > 0 ? [text, ...marks] : [...marks, text]).join(' · ');
}

function activityStyle({ run, status }: TreeRow): Style | null {
  if (run.questions > 0 || status === 'interrupted' || hasProblems(run)) return 'yellow';
  if (status === 'failed' || status === 'timed_out') return 'red';
  return isLive(run.status) ? null : 'dim';
}

function timeText(run: LiveRun, { hasDeadline }: TreeColumns, now: number): string {
  const elapsed = elapsedTime(run, now);
  if (!hasDeadline || run.deadline === null || run.startedAt === null || run.endedAt !== null) return elapsed;
  return `${elapsed}/${formatDuration(run.deadline - run.startedAt)}`;
}

/** Less than a tenth of its time is left. */
function isLate({ startedAt, endedAt, deadline }: LiveRun, now: number): boolean {
  return startedAt !== null && endedAt === null && deadline !== null && now > deadline - (deadline - startedAt) / 10;
}

/** `“name” (3f2a91c0)`, for questions and results. */
export function nameRun(run: LiveRun, columns = 40): string {
  return `“${cutToWidth(displayName(run), columns)}” (${shortId(run.id)})`;
}
