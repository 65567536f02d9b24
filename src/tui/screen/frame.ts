// One frame of the screen: exactly as many lines as the terminal has rows, none wider than it.
import { isLive } from '../../contract/run-status.ts';
import type { LiveRun } from '../../contract/view.ts';
import { formatCost, formatCount, formatPlural } from '../../views/format.ts';
import { paint } from '../../views/style.ts';
import { textWidth } from '../../views/width.ts';
import type { View } from './deps.ts';
import { helpLines } from './help-page.ts';
import { joinParts, type Part, spread, wrapStyled } from './line.ts';
import { renderEditor } from './line-editor.ts';
import { questionLines, questionTitle } from './question-page.ts';
import { shownStatus, type TreeRow } from './rows.ts';
import { renderRunHead, type Tab } from './run-page.ts';
import { layOutColumns, renderRow, renderTitles } from './tree-page.ts';
import { rootOf, type TreeSource } from './tree-source.ts';
import type { Dialog, QuestionDialog, Ui } from './ui.ts';

export interface FrameInput {
  ui: Ui;
  source: TreeSource;
  rows: TreeRow[];
  /** The lines of the open run's tab; null on the tree page. */
  body: ((tab: Tab, run: LiveRun | undefined, view: View) => string[]) | null;
  /** `top`, or `attach` with the id. */
  title: string;
  isAttached: boolean;
}

export interface Frame {
  lines: string[];
  /** Whether something on it changes with the time alone. */
  isTimed: boolean;
  /** How many rows or lines a page has, and how many there are, for the keys that scroll. */
  page: number;
  total: number;
}

export function renderFrame(input: FrameInput, view: View): Frame {
  const { ui } = input;
  const foot = footLines(input, view);
  const room = Math.max(0, view.rows - foot.length);
  const frame =
    ui.dialog?.kind === 'help'
      ? scrolled(['Keys', ''], helpLines(view), { scroll: ui.dialog.scroll, room, view })
      : ui.dialog?.kind === 'question'
        ? questionFrame(ui.dialog, input, { room, view })
        : ui.page === 'run'
          ? runFrame(input, { room, view })
          : treeFrame(input, { room, view });
  const body = frame.lines.slice(0, room);
  while (body.length < room) body.push('');
  return { ...frame, lines: [...body, ...foot].slice(0, view.rows) };
}

interface Area {
  /** Lines above the footer. */
  room: number;
  view: View;
}

function treeFrame(input: FrameInput, { room, view }: Area): Frame {
  const { ui, source, rows } = input;
  const isTall = room >= 8;
  const page = Math.max(1, room - (isTall ? 2 : 1));
  const cursor = rows.findIndex(({ run }) => run.id === ui.selected);
  const at = Math.max(0, cursor);
  ui.top = Math.max(0, Math.min(ui.top, rows.length - page, at), at - page + 1);
  const shown = rows.slice(ui.top, ui.top + page);
  const layout = layOutColumns(shown, view);
  const lines = [
    summaryLine(input, view),
    ...(isTall ? [rows.length === 0 ? '' : renderTitles(layout, view)] : []),
    ...shown.map((row) => renderRow(row, source.state, { layout, isSelected: row.run.id === ui.selected, view })),
    ...(rows.length === 0 ? emptyLines(input, view) : []),
  ];
  return { lines, isTimed: shown.some(({ run }) => isTimed(run)), page, total: rows.length };
}

function isTimed({ status, startedAt }: LiveRun): boolean {
  return isLive(status) && startedAt !== null;
}

function summaryLine({ ui, source, rows, title }: FrameInput, view: View): string {
  const runs = [...source.state.runs.values()];
  const count = (status: LiveRun['status']) => runs.filter((run) => run.status === status).length;
  const trees = source.state.roots.filter((id) => !source.unloaded.has(id));
  const states = (['running', 'waiting', 'queued', 'paused'] as const).flatMap((status) =>
    count(status) > 0 ? [`${count(status)} ${status}`] : [],
  );
  const roots = trees.map((id) => source.state.runs.get(id) as LiveRun);
  const tokens = roots.reduce((sum, run) => sum + run.tokens, 0);
  const costs = roots.flatMap(({ costUsd }) => (costUsd === null ? [] : [costUsd]));
  const parts: Part[] = [
    [`retinue ${title}`, 'bold'],
    [`  ${formatPlural(trees.length, 'tree')}, ${formatPlural(runs.length - source.unloaded.size, 'run')}`],
    [states.length === 0 ? '' : `: ${states.join(', ')}`],
    [tokens === 0 ? '' : ` · ${formatCount(tokens)} tokens`, 'dim'],
    [costs.length === 0 ? '' : ` · ${formatCost(costs.reduce((sum, cost) => sum + cost, 0))}`, 'dim'],
  ];
  const marks: Part[] = [
    [
      ui.filter === ''
        ? ''
        : `  /${ui.filter}: ${formatPlural(rows.filter(({ isMatch }) => isMatch).length, 'match').replace('matchs', 'matches')}`,
      'yellow',
    ],
    [approvalText(source.questions.length), 'yellow'],
  ];
  return spread(parts, marks, view);
}

function approvalText(count: number): string {
  return count === 0 ? '' : `  ${count === 1 ? '1 call waits' : `${count} calls wait`} for approval: a`;
}

function emptyLines({ ui, source, isAttached }: FrameInput, view: View): string[] {
  if (source.isLoading) return wrapStyled('Loading…', view, { indent: 2, style: 'dim' });
  if (ui.filter !== '') return wrapStyled(`No run contains “${ui.filter}”. Esc shows all runs.`, view, { indent: 2 });
  if (isAttached) return wrapStyled('This tree has no runs that can be shown.', view, { indent: 2 });
  return wrapStyled(
    'No live runs. They appear here as soon as one starts, for example with `retinue run "TASK"` or `retinue demo` in another terminal. e shows trees that have ended.',
    view,
    { indent: 2 },
  );
}

function runFrame({ ui, source, body }: FrameInput, { room, view }: Area): Frame {
  const run = source.state.runs.get(ui.selected ?? '');
  if (!run || body === null) return { lines: wrapStyled('This run is not known any more.', view), isTimed: false, page: 1, total: 0 };
  const status = shownStatus(run, source.state, source.undriven.has(rootOf(source.state, run.id) ?? ''));
  const head = renderRunHead(run, source.state, { status, tab: ui.tab, view });
  const isTall = room >= 8;
  const page = Math.max(1, room - head.length - (isTall ? 1 : 0));
  const lines = body(ui.tab, run, view);
  const last = Math.max(0, lines.length - page);
  // The outcome and the log of an ended run are read from their beginning.
  const first = ui.scroll === 'end' ? last : Math.min(ui.scroll, last);
  if (ui.scroll !== 'end') ui.scroll = first;
  return {
    lines: [...head, ...(isTall ? [ruleLine(first, page, lines.length, view)] : []), ...lines.slice(first, first + page)],
    isTimed: isLive(run.status),
    page,
    total: lines.length,
  };
}

/** A rule with the position in a text that does not fit. */
function ruleLine(first: number, page: number, total: number, view: View): string {
  const position = total <= page ? '' : ` ${first + 1}–${Math.min(total, first + page)} of ${total} `;
  return joinParts(
    [
      ['─'.repeat(Math.max(0, view.columns - textWidth(position))), 'dim'],
      [position, 'dim'],
    ],
    view,
  );
}

function scrolled(head: string[], lines: string[], { scroll, room, view }: Area & { scroll: number }): Frame {
  const page = Math.max(1, room - head.length);
  const first = Math.max(0, Math.min(scroll, lines.length - page));
  return {
    lines: [...head.map((line) => joinParts([[line, 'bold']], view)), ...lines.slice(first, first + page)],
    isTimed: false,
    page,
    total: lines.length,
  };
}

/** Remembers how much of the call has been on the screen: only a call that was shown to its end can be approved. */
function questionFrame(dialog: QuestionDialog, { source }: FrameInput, { room, view }: Area): Frame {
  const lines = questionLines(dialog.question, view);
  const page = Math.max(1, room - 2);
  const first = Math.max(0, Math.min(dialog.scroll, lines.length - page));
  dialog.scroll = first;
  const before = dialog.seen?.columns === view.columns ? dialog.seen.lines : 0;
  dialog.seen = { columns: view.columns, lines: first <= before ? Math.max(before, first + page) : before };
  const title = questionTitle(dialog.question, { open: source.questions.length, now: view.now });
  return {
    lines: [joinParts([[title, 'yellow']], view), ruleLine(first, page, lines.length, view), ...lines.slice(first, first + page)],
    isTimed: true,
    page,
    total: lines.length,
  };
}

/** The last lines: a question or an editor, or the result of the last action; and the most useful keys. */
function footLines(input: FrameInput, view: View): string[] {
  const { ui } = input;
  const keys = keyLine(input, view);
  if (ui.dialog?.kind === 'confirm') {
    const most = Math.max(1, Math.min(4, view.rows - 2));
    return [...wrapStyled(ui.dialog.text, view, { style: 'yellow' }).slice(0, most), keys];
  }
  if (ui.dialog?.kind === 'line') return [editorLine(ui.dialog, view), keys];
  const notice = ui.notice === null ? '' : joinParts([[ui.notice.text, ui.notice.style]], view);
  if (view.rows < 12) return [notice === '' ? keys : notice];
  return [notice, keys];
}

function editorLine({ title, editor }: Extract<Dialog, { kind: 'line' }>, view: View): string {
  const label = title.slice(0, Math.max(0, Math.floor(view.columns / 2)));
  const { before, at, after } = renderEditor(editor, Math.max(1, view.columns - textWidth(label) - 1));
  const cursor = view.colour ? paint(true, 'inverse', at) : at === ' ' ? '_' : at;
  return joinParts([[label, 'bold'], [before]], view) + cursor + after;
}

function keyLine({ ui, source, isAttached }: FrameInput, view: View): string {
  const run = source.state.runs.get(ui.selected ?? '');
  const canSteer = run !== undefined && isLive(run.status);
  const steer: [string, string][] = canSteer
    ? [
        ['c', 'cancel'],
        ['m', 'message'],
        ['P', run.status === 'paused' ? 'continue' : 'pause'],
      ]
    : [];
  const ask: [string, string][] = source.questions.length > 0 ? [['a', 'approval']] : [];
  const leave: [string, string] = ['q', ui.page === 'run' ? 'back' : 'quit'];
  const keys: [string, string][] =
    ui.dialog?.kind === 'confirm'
      ? [
          ['y', 'yes'],
          ['n or Esc', 'no'],
        ]
      : ui.dialog?.kind === 'line'
        ? [
            ['Enter', 'done'],
            ['Esc', 'drop'],
          ]
        : ui.dialog?.kind === 'question'
          ? [
              ['a', 'approve'],
              ['r', 'refuse'],
              ['Esc', 'later'],
              ['A', 'always in this run'],
              ['R', 'refuse with a reason'],
              ['↓ PgDn', 'read on'],
            ]
          : ui.dialog?.kind === 'help'
            ? [
                ['Esc', 'back'],
                ['↓ PgDn', 'read on'],
              ]
            : ui.page === 'run'
              ? [leave, ['Tab', 'next tab'], ...ask, ...steer, ['n p', 'siblings'], ['u', 'parent'], ['?', 'help']]
              : [
                  leave,
                  ['Enter', 'open'],
                  ...ask,
                  ...steer,
                  ['/', 'filter'],
                  ...((isAttached ? [] : [['e', ui.showEnded ? 'hide ended' : 'ended']]) as [string, string][]),
                  ['?', 'help'],
                ];
  const parts: Part[] = [];
  let room = view.columns;
  for (const [key, meaning] of keys) {
    const size = textWidth(`${key} ${meaning}`) + (parts.length > 0 ? 3 : 0);
    if (size > room) continue;
    room -= size;
    parts.push([parts.length > 0 ? '   ' : ''], [key, 'bold'], [` ${meaning}`, 'dim']);
  }
  return joinParts(parts, view);
}
