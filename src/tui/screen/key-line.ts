// The last line of the screen: the keys that work now. Help and the way out are always there, the others as far as there is room.
import { isLive } from '../../contract/run-status.ts';
import { isFlowQuestion } from '../../views/describe-question.ts';
import { shownStatus } from '../../views/tree-rows.ts';
import { textWidth } from '../../views/width.ts';
import type { View } from './deps.ts';
import { joinParts, type Part } from './line.ts';
import { rootOf, type TreeSource } from './tree-source.ts';
import type { Ui } from './ui.ts';

export interface KeyLineInput {
  ui: Ui;
  source: Pick<TreeSource, 'state' | 'questions' | 'undriven'>;
  rows: readonly unknown[];
  isAttached: boolean;
}

type KeyHint = [key: string, meaning: string];
/** `first` and `last` are always shown. */
interface KeyHints {
  first?: KeyHint[];
  some: KeyHint[];
  last?: KeyHint[];
}

const separator = '  ';

export function keyLine(input: KeyLineInput, view: View): string {
  const { first = [], some, last = [] } = chooseKeys(input);
  const size = (hints: KeyHint[]) => hints.reduce((sum, hint) => sum + textWidth(hint.join(' ')) + separator.length, -separator.length);
  const shown = [...first];
  for (const hint of some) {
    if (size([...shown, hint, ...last]) > view.columns) break;
    shown.push(hint);
  }
  shown.push(...last);
  const parts = shown.flatMap(([key, meaning], i): Part[] => [[i === 0 ? '' : separator], [key, 'bold'], [` ${meaning}`, 'dim']]);
  return joinParts(parts, view);
}

function chooseKeys(input: KeyLineInput): KeyHints {
  const { ui, source } = input;
  switch (ui.dialog?.kind) {
    case 'confirm':
      return {
        some: [
          ['y', 'yes'],
          ['n', 'no'],
        ],
      };
    case 'line':
      return {
        some: [
          ['Enter', ui.dialog.done],
          ['Esc', ui.dialog.drop],
        ],
      };
    case 'question':
      return {
        first: [
          ['a', 'approve'],
          ['r', 'refuse'],
          ['Esc', 'later'],
        ],
        some: [
          ...(isFlowQuestion(ui.dialog.question) ? [] : [['A', 'always in this run'] as KeyHint]),
          ['R', 'refuse with a reason'],
          ['↑↓ PgDn', 'scroll'],
        ],
      };
    case 'help':
      return { first: [['Esc', 'back']], some: [['↑↓ PgDn', 'scroll']] };
    default:
      return ui.page === 'run' ? runKeys(ui, source) : treeKeys(input);
  }
}

function treeKeys({ ui, source, rows, isAttached }: KeyLineInput): KeyHints {
  const onRows: KeyHint[] = [['↑↓', 'move'], ['Enter', 'open'], ...steerKeys(ui, source)];
  const filter: KeyHint[] = ui.filter === '' ? [['/', 'filter']] : [['Esc', 'show all']];
  const ended: KeyHint[] = isAttached ? [] : [['e', ui.showEnded ? 'hide ended' : 'show ended']];
  const hasRows = rows.length > 0;
  return {
    some: [
      ...(hasRows ? onRows : []),
      ...(hasRows || ui.filter !== '' ? filter : []),
      ...(hasRows ? [['←→', 'fold'] as KeyHint] : []),
      ...ended,
    ],
    last: [
      ['?', 'help'],
      ['q', 'quit'],
    ],
  };
}

function runKeys(ui: Ui, source: KeyLineInput['source']): KeyHints {
  const run = source.state.runs.get(ui.selected ?? '');
  return {
    some: [
      ['Tab', 'next tab'],
      ['↑↓', 'scroll'],
      ...steerKeys(ui, source),
      ['n p', 'next, previous'],
      ...((run?.parentId == null ? [] : [['u', 'parent']]) as KeyHint[]),
      ...((run === undefined || run.children.length === 0 ? [] : [['d', 'child']]) as KeyHint[]),
    ],
    last: [
      ['?', 'help'],
      ['q', 'back'],
    ],
  };
}

function steerKeys(ui: Ui, { state, questions, undriven }: KeyLineInput['source']): KeyHint[] {
  const run = state.runs.get(ui.selected ?? '');
  const approve: KeyHint[] = questions.length > 0 ? [['a', 'approve']] : [];
  if (run === undefined || !isLive(run.status)) return approve;
  const status = shownStatus(run, state, undriven.has(rootOf(state, run.id) ?? ''));
  const canContinue = status === 'paused' || status === 'interrupted';
  return [...approve, ['c', 'cancel'], ['m', 'message'], ['P', canContinue ? 'continue' : 'pause']];
}
