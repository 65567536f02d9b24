// Keys on the tree page and on the page of a run.
import type { Question } from '../../api/api.ts';
import type { LiveRun } from '../../contract/view.ts';
import type { Style } from '../../views/style.ts';
import { type TreeRow, toggleFold } from '../../views/tree-rows.ts';
import type { Actions } from './actions.ts';
import { scrollBy, settleMs } from './dialog-keys.ts';
import type { Key } from './key.ts';
import { createLineEditor } from './line-editor.ts';
import { type Tab, tabs } from './run-page.ts';
import { rootOf, type TreeSource } from './tree-source.ts';
import type { Ui } from './ui.ts';

export interface PageDeps {
  ui: Ui;
  source: TreeSource;
  actions: Actions;
  rows(): TreeRow[];
  now(): number;
  page(): number;
  total(): number;
  notify(text: string, style?: Style | null): void;
  /** Opens the page of a run. */
  open(id: string): void;
  leave(): void;
}

export function pressOnPage(key: Key, deps: PageDeps): void {
  const { ui } = deps;
  const handled = ui.page === 'run' ? pressOnRun(key, deps) : pressOnTree(key, deps);
  if (!handled) pressAnywhere(key, deps);
}

function pressOnTree(key: Key, deps: PageDeps): boolean {
  const { ui, source } = deps;
  const rows = deps.rows();
  const at = Math.max(
    0,
    rows.findIndex(({ run }) => run.id === ui.selected),
  );
  const row = rows[at];
  const select = (index: number) => {
    ui.selected = rows[Math.max(0, Math.min(rows.length - 1, index))]?.run.id ?? null;
  };
  const step = { up: -1, k: -1, down: 1, j: 1, pageup: -deps.page(), pagedown: deps.page() }[key];
  if (step !== undefined) select(at + step);
  else if (key === 'home' || key === 'g') select(0);
  else if (key === 'end' || key === 'G') select(rows.length - 1);
  else if (key === 'left' && row) foldOrGoUp(row, deps);
  else if (key === 'right' && row) unfoldOrGoDown(row, at, rows, deps);
  else if (key === ' ' && row) toggleRow(row, deps);
  else if (key === 'enter' && row) openRow(row, deps);
  else if (key === 'escape' && ui.filter !== '') ui.filter = '';
  // Escape closes things one after the other; one press too many must not end the screen.
  else if (key === 'escape') deps.notify('q leaves the screen');
  else if (key === 'q') deps.leave();
  else if (key === '/') editFilter(ui);
  else if (key === 'e') {
    ui.showEnded = !ui.showEnded;
    if (ui.showEnded) void source.addEnded();
  } else return false;
  return true;
}

function openRow({ run, opens }: TreeRow, { source, open }: PageDeps): void {
  if (source.unloaded.has(run.id)) void source.loadTree(run.id);
  open(opens);
}

function foldOrGoUp(row: TreeRow, { ui }: PageDeps): void {
  if (row.fold === 'open') toggleFold(ui.folded, row.run.id);
  else if (row.run.parentId !== null) ui.selected = row.run.parentId;
}

function unfoldOrGoDown(row: TreeRow, at: number, rows: TreeRow[], deps: PageDeps): void {
  if (row.fold === 'folded') toggleRow(row, deps);
  else if (row.fold === 'open') deps.ui.selected = rows[at + 1]?.run.id ?? row.run.id;
}

function toggleRow({ run, fold }: TreeRow, { ui, source }: PageDeps): void {
  if (source.unloaded.has(run.id)) void source.loadTree(run.id);
  else if (fold !== 'none') toggleFold(ui.folded, run.id);
}

function editFilter(ui: Ui): void {
  const before = ui.filter;
  ui.dialog = {
    kind: 'line',
    title: 'Show only runs with: ',
    editor: createLineEditor(before),
    done: 'keep',
    drop: 'show all runs',
    submit: () => {},
    change: (text) => {
      ui.filter = text;
    },
  };
}

function pressOnRun(key: Key, deps: PageDeps): boolean {
  const { ui } = deps;
  const turn = key === 'tab' || key === 'right' ? 1 : key === 'shift-tab' || key === 'left' ? -1 : 0;
  if (turn !== 0) chooseTab(ui, tabs[(tabs.indexOf(ui.tab) + turn + tabs.length) % tabs.length] as Tab);
  else if (/^[1-4]$/.test(key)) chooseTab(ui, tabs[Number(key) - 1] as Tab);
  else if (key === 'escape' || key === 'q') ui.page = 'tree';
  else {
    const last = Math.max(0, deps.total() - deps.page());
    const scroll = scrollBy(ui.scroll === 'end' ? last : ui.scroll, key, deps);
    if (scroll === null) return false;
    // At the end, the text is followed again.
    ui.scroll = scroll >= last ? 'end' : scroll;
  }
  return true;
}

/** A conversation and a log are read from their end, calls and an outcome from their beginning. */
function chooseTab(ui: Ui, tab: Tab): void {
  ui.tab = tab;
  ui.scroll = tab === 'conversation' || tab === 'log' ? 'end' : 0;
}

/** Keys that act on a run. */
const runKeys = ['n', 'p', 'u', 'd', 'c', 'C', 'm', 'P'];

function pressAnywhere(key: Key, deps: PageDeps): void {
  const { ui, source, actions, notify } = deps;
  if (key === '?') {
    ui.dialog = { kind: 'help', scroll: 0 };
    return;
  }
  if (key === 'a' || key === 'A' || key === 'r' || key === 'R') {
    const question = findQuestion(deps);
    if (question === null) notify('no call waits for approval', null);
    else ui.dialog = { kind: 'question', question, scroll: 0, seen: null, readyAt: deps.now() + settleMs };
    return;
  }
  const run = source.state.runs.get(ui.selected ?? '');
  if (!run) {
    if (ui.selected !== null && runKeys.includes(key)) notify('this is a step of a flow; ← goes to its flow', null);
    return;
  }
  if (key === 'n' || key === 'p') goToSibling(run, key === 'n' ? 1 : -1, deps);
  else if (key === 'u') goToParent(run, deps);
  else if (key === 'd') goToChild(run, deps);
  else if (key === 'c') actions.cancel(run);
  else if (key === 'C') actions.cancelTree(run);
  else if (key === 'm') actions.message(run);
  else if (key === 'P') actions.pauseOrContinue(run);
}

/** Of the selected run; otherwise the oldest of its tree, otherwise the oldest. */
function findQuestion({ ui, source: { questions, state } }: PageDeps): Question | null {
  const rootId = ui.selected === null ? null : rootOf(state, ui.selected);
  return (
    questions.find(({ runId }) => runId === ui.selected) ?? questions.find((question) => question.rootId === rootId) ?? questions[0] ?? null
  );
}

function goToSibling(run: LiveRun, step: number, deps: PageDeps): void {
  const { state, earlier } = deps.source;
  const siblings =
    run.parentId === null
      ? state.roots.filter((id) => deps.ui.showEnded || !earlier.has(id))
      : (state.runs.get(run.parentId) as LiveRun).children;
  const next = siblings[siblings.indexOf(run.id) + step];
  if (next === undefined) deps.notify(step > 0 ? 'this is the last one' : 'this is the first one', null);
  else goTo(next, deps);
}

function goToParent({ parentId }: LiveRun, deps: PageDeps): void {
  if (parentId === null) deps.notify('it has no parent');
  else goTo(parentId, deps);
}

function goToChild({ id, children: [first] }: LiveRun, deps: PageDeps): void {
  if (first === undefined) return void deps.notify('it has no children');
  deps.ui.folded.delete(id);
  goTo(first, deps);
}

function goTo(id: string, { ui, open }: PageDeps): void {
  if (ui.page === 'run') open(id);
  else ui.selected = id;
}
