// One frame of the screen: exactly as many lines as the terminal has rows, none wider than it.
import { isLive } from '../../contract/run-status.ts';
import type { LiveRun } from '../../contract/view.ts';
import { shownStatus, type TreeRow } from '../../views/tree-rows.ts';
import { cutToWidth, textWidth } from '../../views/width.ts';
import type { View } from './deps.ts';
import { detailHeight, renderDetail } from './detail-pane.ts';
import { toDrawable } from './drawable.ts';
import { helpLines } from './help-page.ts';
import { keyLine } from './key-line.ts';
import { joinParts, wrapStyled } from './line.ts';
import { renderEditor } from './line-editor.ts';
import { questionLines, questionTitle } from './question-page.ts';
import { renderRunHead, type Tab } from './run-page.ts';
import { summaryLine } from './summary-line.ts';
import { layOutColumns } from './tree-columns.ts';
import { renderRow, renderTitles } from './tree-page.ts';
import { rootOf, type TreeSource } from './tree-source.ts';
import type { LineDialog, QuestionDialog, Ui } from './ui.ts';

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
  /** After how long something on it changes with the time alone; null if nothing does. */
  tickMs: number | null;
  /** How many rows or lines a page has, and how many there are, for the keys that scroll. */
  page: number;
  total: number;
}

/** Fewer lines above the footer have no room for titles and rules, or for the selected run below the tree. */
const minTitles = 8;
const minDetail = 16;
/** On fewer rows, the result of an action takes the place of the keys. */
const minNotice = 12;
const maxNoticeLines = 3;
const secondMs = 1_000;
/** More elapsed times than this are drawn every other second: together they are most of what a quiet screen costs. */
const maxTimedRows = 20;

export function renderFrame(input: FrameInput, view: View): Frame {
  const { ui } = input;
  const foot = footLines(input, view);
  const room = Math.max(0, view.rows - foot.length);
  const frame =
    ui.dialog?.kind === 'help'
      ? scrolled(['Help', ''], helpLines(view), { scroll: ui.dialog.scroll, room, view })
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
  const { ui, source, rows, title } = input;
  const { state } = source;
  const hasTitles = room >= minTitles;
  const selected = rows.find(({ run }) => run.id === ui.selected);
  const detail = room >= minDetail && selected ? renderDetail(selected, state, view) : [];
  const page = Math.max(1, room - (hasTitles ? 2 : 1) - (room >= minDetail ? detailHeight : 0));
  const at = Math.max(0, selected ? rows.indexOf(selected) : 0);
  ui.top = Math.max(0, Math.min(ui.top, rows.length - page, at), at - page + 1);
  const shown = rows.slice(ui.top, ui.top + page);
  const layout = layOutColumns(shown, { state, view, widestActivity: ui.widest.columns === view.columns ? ui.widest.activity : 0 });
  ui.widest = { activity: layout.widestActivity, columns: view.columns };
  const lines = [
    summaryLine({ source, rows, filter: ui.filter, title }, view),
    ...(hasTitles ? [rows.length === 0 ? '' : renderTitles(layout, view)] : []),
    ...shown.map((row) => renderRow(row, state, { layout, isSelected: row === selected, view })),
    ...(rows.length === 0 ? emptyLines(input, view) : []),
  ];
  if (detail.length > 0) while (lines.length < room - detailHeight) lines.push('');
  const timed = shown.filter(({ run }) => isLive(run.status) && run.startedAt !== null).length;
  const tickMs = timed === 0 ? null : timed <= maxTimedRows ? secondMs : 2 * secondMs;
  return { lines: [...lines, ...detail], tickMs, page, total: rows.length };
}

function emptyLines({ ui, source, isAttached }: FrameInput, view: View): string[] {
  if (source.isLoading) return wrapStyled('Loading…', view, { indent: 2, style: 'dim' });
  if (ui.filter !== '') return wrapStyled(`No run contains “${ui.filter}”. Esc shows all runs.`, view, { indent: 2 });
  if (isAttached) return wrapStyled('This tree has no runs that can be shown.', view, { indent: 2 });
  return wrapStyled(
    'No run is live.\n\nA run appears here as soon as it starts, for example with `retinue run "TASK"` or `retinue demo` in another terminal.\n\nPress e to see trees that have ended. `retinue ps --everywhere` lists the runs of your other workspaces.',
    view,
    { indent: 2 },
  );
}

function runFrame({ ui, source, body }: FrameInput, { room, view }: Area): Frame {
  const run = source.state.runs.get(ui.selected ?? '');
  if (!run || body === null) return { lines: wrapStyled('This run is not known any more.', view), tickMs: null, page: 1, total: 0 };
  const status = shownStatus(run, source.state, source.undriven.has(rootOf(source.state, run.id) ?? ''));
  const head = renderRunHead(run, source.state, { status, tab: ui.tab, isTall: room >= minDetail, view });
  const hasRule = room >= minTitles;
  const page = Math.max(1, room - head.length - (hasRule ? 1 : 0));
  const lines = body(ui.tab, run, view);
  const last = Math.max(0, lines.length - page);
  const first = ui.scroll === 'end' ? last : Math.min(ui.scroll, last);
  if (ui.scroll !== 'end') ui.scroll = first;
  return {
    lines: [...head, ...(hasRule ? [ruleLine(first, page, lines.length, view)] : []), ...lines.slice(first, first + page)],
    tickMs: isLive(run.status) ? secondMs : null,
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
    tickMs: null,
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
    tickMs: secondMs,
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
  const notice = ui.notice === null ? [''] : wrapStyled(ui.notice.text, view, { style: ui.notice.style }).slice(0, maxNoticeLines);
  if (view.rows < minNotice) return [ui.notice === null ? keys : (notice[0] ?? keys)];
  return [...notice, keys];
}

function editorLine({ title, editor }: LineDialog, view: View): string {
  const label = cutToWidth(toDrawable(title), Math.floor(view.columns / 2));
  const { before, at, after } = renderEditor(editor, Math.max(1, view.columns - textWidth(label) - 1));
  const cursor = !view.colour && at === ' ' ? '_' : at;
  return joinParts([[label, 'bold'], [before], [cursor, 'inverse'], [after]], view);
}
