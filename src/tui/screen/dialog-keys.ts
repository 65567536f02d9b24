// Keys while a dialog is open: help, yes or no, a line of text, an approval.
import { isFlowQuestion } from '../../views/describe-question.ts';
import type { Style } from '../../views/style.ts';
import type { Actions } from './actions.ts';
import type { Key } from './key.ts';
import { createLineEditor, editLine, editorText, insertText } from './line-editor.ts';
import type { Dialog, QuestionDialog, Ui } from './ui.ts';

export interface DialogDeps {
  ui: Ui;
  actions: Actions;
  now(): number;
  page(): number;
  total(): number;
  notify(text: string, style?: Style | null): void;
}

/** Keys typed sooner were meant for something else. */
export const settleMs = 300;

/** `isAlone`: no other key arrived together with it. What is typed or pasted as a whole must not confirm or approve anything. */
export function pressInDialog(key: Key, dialog: Dialog, { isAlone, ...deps }: DialogDeps & { isAlone: boolean }): void {
  const { ui } = deps;
  if (!isAlone && (dialog.kind === 'confirm' || dialog.kind === 'question'))
    return void deps.notify('several keys arrived at once, so they were ignored', 'yellow');
  switch (dialog.kind) {
    case 'help':
      if (key === 'escape' || key === 'q' || key === '?' || key === 'enter') ui.dialog = null;
      else dialog.scroll = scrollBy(dialog.scroll, key, deps) ?? dialog.scroll;
      return;
    case 'confirm':
      if (key === 'y' || key === 'Y') {
        ui.dialog = null;
        dialog.confirm();
      } else if (key === 'n' || key === 'N' || key === 'escape' || key === 'q') {
        ui.dialog = null;
        deps.notify('nothing was changed', null);
      }
      return;
    case 'line':
      pressInEditor(key, dialog, ui);
      return;
    case 'question':
      pressInQuestion(key, dialog, deps);
  }
}

/** Pasted text goes into an editor and nowhere else: it must not act. */
export function pasteInDialog(text: string, dialog: Dialog | null): void {
  if (dialog?.kind !== 'line') return;
  insertText(dialog.editor, text);
  dialog.change?.(editorText(dialog.editor));
}

function pressInEditor(key: Key, dialog: Extract<Dialog, { kind: 'line' }>, ui: Ui): void {
  if (key === 'escape') {
    ui.dialog = null;
    dialog.change?.('');
  } else if (key === 'enter') {
    ui.dialog = null;
    dialog.submit(editorText(dialog.editor));
  } else if (editLine(dialog.editor, key)) dialog.change?.(editorText(dialog.editor));
}

function pressInQuestion(key: Key, dialog: QuestionDialog, deps: DialogDeps): void {
  const { ui, actions, notify } = deps;
  if (deps.now() < dialog.readyAt) {
    dialog.readyAt = deps.now() + settleMs;
    notify('keys typed before you could read the question are ignored', 'yellow');
    return;
  }
  const { question } = dialog;
  if (key === 'A' && isFlowQuestion(question)) return void notify('a flow asks each time: a approves, r refuses', null);
  if (key === 'a' || key === 'A' || key === 'y') {
    if ((dialog.seen?.lines ?? 0) < deps.total())
      return void notify('the call is longer than the screen: read it to its end first (↓, PgDn)', 'yellow');
    ui.dialog = null;
    actions.answer(question, { allowed: true, always: key === 'A' });
  } else if (key === 'r' || key === 'n') {
    ui.dialog = null;
    actions.answer(question, { allowed: false });
  } else if (key === 'R') {
    ui.dialog = {
      kind: 'line',
      title: 'Refuse, because: ',
      editor: createLineEditor(),
      done: 'refuse',
      drop: 'do not answer',
      submit: (reason) => actions.answer(question, { allowed: false, ...(reason.trim() === '' ? {} : { reason: reason.trim() }) }),
    };
  } else if (key === 'escape' || key === 'q') {
    ui.dialog = null;
    notify('not answered; a shows the call again', null);
  } else dialog.scroll = scrollBy(dialog.scroll, key, deps) ?? dialog.scroll;
}

/** The new first line of a text that is scrolled from its beginning; null if the key does not scroll. */
export function scrollBy(from: number, key: Key, { page, total }: Pick<DialogDeps, 'page' | 'total'>): number | null {
  const last = Math.max(0, total() - page());
  const step = { up: -1, k: -1, down: 1, j: 1, pageup: -page(), pagedown: page(), ' ': page() }[key];
  if (step !== undefined) return Math.max(0, Math.min(last, from + step));
  if (key === 'home' || key === 'g') return 0;
  return key === 'end' || key === 'G' ? last : null;
}
