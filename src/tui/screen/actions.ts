// Orders to runs, and what the user reads about their results.
import type { Question } from '../../api/api.ts';
import { isLive } from '../../contract/run-status.ts';
import type { LiveRun } from '../../contract/view.ts';
import { markInvisibleLine } from '../../text/invisible.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { formatStatus, shortId } from '../../views/format.ts';
import { displayName, liveDescendants } from '../../views/run-row.ts';
import type { Style } from '../../views/style.ts';
import { shownStatus } from '../../views/tree-rows.ts';
import { cutToWidth } from '../../views/width.ts';
import type { ScreenApi } from './deps.ts';
import { createLineEditor } from './line-editor.ts';
import { nameRun } from './row-texts.ts';
import { errorText, rootOf, type TreeSource } from './tree-source.ts';
import type { Ui } from './ui.ts';

export interface Actions {
  /** Each asks first where it ends something. */
  cancel(run: LiveRun): void;
  cancelTree(run: LiveRun): void;
  pauseOrContinue(run: LiveRun): void;
  message(run: LiveRun): void;
  answer(question: Question, answer: { allowed: boolean; always?: boolean; reason?: string }): void;
  /** Roots of trees that this process drives since the user continued them here. */
  driven: Set<string>;
}

export interface ActionDeps {
  api: ScreenApi;
  source: TreeSource;
  ui: Ui;
  /** Roots of trees that this process drives already. */
  driven: string[];
  notify(text: string, style?: Style | null): void;
}

const maxNames = 5;
/** Recorded with an order. */
const reason = 'requested on the terminal screen';

export function createActions({ api, source, ui, notify, driven: initial }: ActionDeps): Actions {
  const driven = new Set(initial);
  const here = api.server === undefined ? 'here' : 'on the server';

  /** What a server drives does not end with the screen. */
  function drive(rootId: string): void {
    if (api.server === undefined) driven.add(rootId);
  }

  /** Shows what is going on, then the result or the error. */
  function perform(starting: string, work: () => Promise<{ text: string; style?: Style | null }>): void {
    notify(starting, 'cyan');
    work().then(
      ({ text, style = 'green' }) => notify(text, style),
      (error: unknown) => notify(errorText(error), 'red'),
    );
  }

  function confirmCancel(run: LiveRun, what: string): void {
    const below = liveDescendants(run, source.state);
    if (!isLive(run.status) && below.length === 0)
      return void notify(`${nameRun(run)} has already ended: ${formatStatus(run.status)}`, 'yellow');
    const names = below.slice(0, maxNames).map((each) => cutToWidth(displayName(each), 24));
    const more = below.length > maxNames ? `, and ${below.length - maxNames} more` : '';
    const also =
      below.length === 0
        ? ''
        : ` This also ends ${below.length === 1 ? 'its child' : `${below.length} runs below it`}: ${names.join(', ')}${more}.`;
    ui.dialog = {
      kind: 'confirm',
      text: `Cancel ${what}${nameRun(run)}?${also}`,
      confirm: () =>
        perform(`cancelling ${shortId(run.id)} …`, async () => {
          const [result] = await api.cancel([run.id], reason);
          const texts = { asked: 'is being cancelled', ended: 'is cancelled; it had no process', already: 'had already ended' };
          return { text: `${nameRun(run)} ${texts[result?.result ?? 'already']}` };
        }),
    };
  }

  function continueHere(run: LiveRun, rootId: string): void {
    ui.dialog = {
      kind: 'confirm',
      text: `No process runs ${nameRun(run)}. Continue its tree ${api.server === undefined ? 'in this process? It pauses when you leave the screen.' : 'on the server?'}`,
      confirm: () =>
        perform(`continuing ${shortId(rootId)} …`, async () => {
          if ((await api.show(rootId)).queue !== undefined) {
            await api.release(rootId);
            return { text: `${shortId(rootId)} continues as soon as a worker takes it` };
          }
          const handles = await api.resume(rootId);
          drive(rootId);
          for (const { outcome } of handles) void outcome.catch(() => {});
          await source.refresh();
          return { text: `${shortId(rootId)} continues ${here}` };
        }),
    };
  }

  return {
    driven,
    cancel: (run) => confirmCancel(run, ''),
    cancelTree(run) {
      const root = source.state.runs.get(rootOf(source.state, run.id) ?? run.id) as LiveRun;
      confirmCancel(root, 'the whole tree of ');
    },
    pauseOrContinue(run) {
      const rootId = rootOf(source.state, run.id) ?? run.id;
      const isUndriven = source.undriven.has(rootId);
      if (!isLive(run.status)) return void notify(`${nameRun(run)} has ended: ${formatStatus(run.status)}`, 'yellow');
      if (isUndriven) return void continueHere(run, rootId);
      if (shownStatus(run, source.state, isUndriven) === 'paused')
        return perform(`continuing ${shortId(run.id)} …`, async () =>
          (await api.release(run.id)) ? { text: `${nameRun(run)} continues` } : { text: `${nameRun(run)} was not paused`, style: 'yellow' },
        );
      perform(`pausing ${shortId(run.id)}: calls that are running finish first …`, async () => {
        const [result] = await api.pause([run.id], reason);
        return result?.result === 'paused'
          ? { text: `${nameRun(run)} is paused; P continues it` }
          : { text: `${nameRun(run)} ended before it could pause`, style: 'yellow' };
      });
    },
    message(run) {
      if (!isLive(run.status)) return void notify(`it has ended; ask it with: retinue message ${shortId(run.id)} TEXT`, 'yellow');
      ui.dialog = {
        kind: 'line',
        title: `Message to ${nameRun(run, 30)}: `,
        editor: createLineEditor(),
        done: 'send',
        drop: 'do not send',
        submit(text) {
          if (text.trim() === '') return void notify('no message was sent', null);
          perform(`sending a message to ${shortId(run.id)} …`, async () => {
            const result = await api.message(run.id, text);
            if (result.kind !== 'continued') {
              const when = result.kind === 'sent' ? 'before its next turn' : 'when it is resumed: its process has died';
              return { text: `${nameRun(run)} will read it ${when}` };
            }
            drive(result.handle.id);
            void result.handle.outcome.catch(() => {});
            return {
              text: `it had ended; ${shortId(result.handle.id)} answers as a new run${api.server === undefined ? ' in this process' : ''}`,
            };
          });
        },
      };
    },
    answer(question, answer) {
      const call = `${shortId(question.runId)} ${markInvisibleLine(question.tool)}`;
      perform(`${answer.allowed ? 'approving' : 'refusing'} ${call} …`, async () => {
        const { result, denial } = await api.answer(question.id, { ...answer, by: 'the user' });
        if (result === 'late') return { text: `${call} no longer waits for an answer`, style: 'yellow' };
        if (denial !== undefined) return { text: `${call} approved, but not made: ${sanitizeLine(denial)}`, style: 'yellow' };
        const later = result === 'kept' ? '; it takes effect when the run is continued' : '';
        return { text: `${call} ${answer.allowed ? `approved${answer.always ? ' from now on' : ''}` : 'refused'}${later}` };
      });
    },
  };
}
