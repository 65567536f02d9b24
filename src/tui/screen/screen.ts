// The screen without a terminal: keys and sizes in, frames out.
//
// 1. Listeners are called only if the frame differs from the last one.
// 2. Changes by events are drawn together, `batchMs` after the first of them; keys and sizes at once.
// 3. A timer runs only while something on the screen changes with the time alone.
import type { Delta } from '../../contract/delta.ts';
import type { StoredFact } from '../../contract/fact.ts';
import { isLive } from '../../contract/run-status.ts';
import type { LiveRun } from '../../contract/view.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import type { Style } from '../../views/style.ts';
import { listRows } from '../../views/tree-rows.ts';
import { createActions } from './actions.ts';
import type { ScreenApi, Timers } from './deps.ts';
import { pasteInDialog, pressInDialog } from './dialog-keys.ts';
import { type Frame, renderFrame } from './frame.ts';
import type { Key } from './key.ts';
import { createLiveTexts } from './live-texts.ts';
import { pressOnPage } from './page-keys.ts';
import { createRunBody } from './run-page.ts';
import { type OpenRun, openRun } from './run-source.ts';
import { createTreeSource, rootOf } from './tree-source.ts';
import { createUi } from './ui.ts';

export interface ScreenOptions {
  api: ScreenApi;
  /** The tree to show and the run to select; null: all live trees. */
  attach: { rootId: string; runId: string } | null;
  /** Roots of trees that this process drives already. */
  driven?: string[];
  /** When it resolves, the screen closes without a key, unless a run is open: then after that. */
  until?: Promise<void>;
  timers: Timers;
  colour: boolean;
  size: { columns: number; rows: number };
}

export interface ScreenResult {
  /** Live runs of other processes that were on the screen. */
  live: number;
  /** Roots of live trees that this process drives, because they were continued here. */
  driven: string[];
}

export interface Screen {
  lines(): string[];
  subscribe(listener: () => void): () => void;
  /** Keys that arrived together. */
  press(...keys: Key[]): void;
  paste(text: string): void;
  resize(size: { columns: number; rows: number }): void;
  /** Resolves when the user leaves. `interrupt`: with Ctrl-C. */
  left: Promise<'quit' | 'interrupt'>;
  close(): ScreenResult;
}

const batchMs = 16;
/** A screen that closes without a key waits until no key was pressed for so long: the next one would reach the shell. */
const quietMs = 5_000;

export function createScreen({ api, attach, driven = [], until, timers, colour, size: initial }: ScreenOptions): Screen {
  const ui = createUi();
  ui.selected = attach?.runId ?? null;
  const texts = createLiveTexts();
  const listeners = new Set<() => void>();
  const { promise: left, resolve: leave } = Promise.withResolvers<'quit' | 'interrupt'>();
  let size = initial;
  let frame: Frame = { lines: [], tickMs: null, page: 1, total: 0 };
  let shown: { run: OpenRun; body: ReturnType<typeof createRunBody> } | null = null;
  let stopBatch: (() => void) | null = null;
  let stopClock: (() => void) | null = null;
  let isClosed = false;
  let isOver = false;
  let lastKeyAt = Number.NEGATIVE_INFINITY;

  const source = createTreeSource({
    api,
    rootId: attach?.rootId ?? null,
    timers,
    onChange: scheduleUpdate,
    onEvent: takeEvent,
    onError: (text) => notify(text, 'red'),
  });
  const actions = createActions({ api, source, ui, notify, driven });
  /** Trees that ended before are hidden as a whole, also if the rest of one was loaded. */
  const isHidden = (id: string) => !ui.showEnded && source.earlier.has(rootOf(source.state, id) ?? id);
  const rows = () => listRows(source, ui).filter(({ run }) => !isHidden(run.id));
  const deps = {
    ...{ ui, source, actions, rows, notify, open: openPage, leave: askToLeave },
    now: timers.now,
    page: () => frame.page,
    total: () => frame.total,
  };

  function notify(text: string, style: Style | null = null): void {
    ui.notice = { text, style };
    scheduleUpdate();
  }

  function takeEvent(event: StoredFact | Delta): void {
    texts.take(event);
    shown?.run.take(event);
  }

  function openPage(id: string): void {
    const run = openRun(id, { api, texts, onChange: scheduleUpdate });
    shown = { run, body: createRunBody(run) };
    Object.assign(ui, { page: 'run', selected: id, scroll: ui.tab === 'conversation' || ui.tab === 'log' ? 'end' : 0 });
  }

  /** Trees that this process drives pause when it ends, so that is asked first. */
  function askToLeave(): void {
    const live = liveDriven();
    if (live.length === 0) return void leave('quit');
    const text = `${live.length === 1 ? 'The tree that was' : `The ${live.length} trees that were`} continued here will pause. Leave the screen?`;
    ui.dialog = { kind: 'confirm', text, confirm: () => leave('quit') };
  }

  function liveDriven(): string[] {
    return [...actions.driven].filter((id) => isLive(source.state.runs.get(id)?.status ?? 'completed'));
  }

  function scheduleUpdate(): void {
    if (isClosed || stopBatch !== null) return;
    stopBatch = timers.after(batchMs, update);
  }

  function update(): void {
    stopBatch?.();
    stopBatch = null;
    if (isClosed) return;
    settleState();
    if (isOver && ui.page === 'tree' && ui.dialog === null && lastKeyAt + quietMs <= timers.now()) return void leave('quit');
    const view = { ...size, colour, now: timers.now() };
    const next = renderFrame(
      {
        ui,
        source,
        rows: rows(),
        body: shown?.body ?? null,
        title: attach ? `attach ${attach.rootId.slice(0, 8)}` : 'top',
        isAttached: attach !== null,
      },
      view,
    );
    const isChanged = next.lines.length !== frame.lines.length || next.lines.some((line, i) => line !== frame.lines[i]);
    frame = isChanged ? next : { ...next, lines: frame.lines };
    stopClock?.();
    const tickMs = isOver ? quietMs : next.tickMs;
    stopClock = tickMs === null ? null : timers.after(tickMs - (timers.now() % tickMs), update);
    if (isChanged) for (const listener of listeners) listener();
  }

  /** Keeps the selection on a row, and closes a question that was answered elsewhere. */
  function settleState(): void {
    const { dialog } = ui;
    if (dialog?.kind === 'question' && !source.questions.some(({ id }) => id === dialog.question.id)) {
      ui.dialog = null;
      ui.notice = { text: 'this call no longer waits for an answer', style: 'yellow' };
    }
    if (ui.page === 'run') return;
    shown = null;
    const all = rows();
    const row = all.find(({ run }) => run.id === ui.selected);
    if (!row?.isMatch)
      ui.selected =
        all.find(({ isMatch }) => isMatch && ui.filter !== '')?.run.id ?? nearestShown(all.map(({ run }) => run.id)) ?? ui.selected;
  }

  /** The nearest ancestor of the selected run that is shown, otherwise the first row. */
  function nearestShown(ids: string[]): string | undefined {
    for (let run = source.state.runs.get(ui.selected ?? ''); run; run = source.state.runs.get(run.parentId ?? ''))
      if (ids.includes(run.id)) return run.id;
    return ids[0];
  }

  const endReports = api.server?.watchConnection(({ isConnected, reason }) => {
    if (isConnected) notify('connected to the server again');
    else notify(`the connection to the server was lost (${sanitizeLine(reason)}); trying again`, 'yellow');
  });
  void until?.then(() => {
    isOver = true;
    // The screen may learn a little later that they have ended.
    for (const id of driven) actions.driven.delete(id);
    notify('everything has ended; q shows the results', 'green');
  });
  source.start();
  update();
  return {
    lines: () => frame.lines,
    left,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    press(...keys) {
      if (keys.includes('ctrl-c')) return void leave('interrupt');
      lastKeyAt = timers.now();
      for (const key of keys) {
        const { dialog } = ui;
        if (dialog === null || dialog.kind === 'question') ui.notice = null;
        if (dialog === null) pressOnPage(key, deps);
        else pressInDialog(key, dialog, { ...deps, isAlone: keys.length === 1 });
        update();
      }
    },
    paste(text) {
      pasteInDialog(text, ui.dialog);
      update();
    },
    resize(next) {
      size = next;
      update();
    },
    close() {
      isClosed = true;
      endReports?.();
      source.close();
      stopBatch?.();
      stopClock?.();
      const { state, undriven } = source;
      const isContinuing = ({ id, status, kind }: LiveRun) => isLive(status) && kind !== 'client' && !undriven.has(rootOf(state, id) ?? '');
      const live = isOver ? [] : [...state.runs.values()].filter(isContinuing);
      return { live: live.length, driven: liveDriven() };
    },
  };
}
