// What the user has chosen to see, and the dialog that gets the keys.
import type { Question } from '../../api/api.ts';
import type { Style } from '../../views/style.ts';
import type { LineEditor } from './line-editor.ts';
import type { Tab } from './run-page.ts';

export type Dialog =
  | { kind: 'help'; scroll: number }
  | { kind: 'confirm'; text: string; confirm: () => void }
  | LineDialog
  | QuestionDialog;

export interface LineDialog {
  kind: 'line';
  title: string;
  editor: LineEditor;
  /** What Enter and Escape do, for the line with the keys. */
  done: string;
  drop: string;
  submit: (text: string) => void;
  change?: (text: string) => void;
}

export interface QuestionDialog {
  kind: 'question';
  question: Question;
  scroll: number;
  /** Lines of the call that were on the screen so far, at this width; null before the first frame. */
  seen: { lines: number; columns: number } | null;
  /** Keys before this time are ignored, and each of them postpones it: they were typed before the question could be read. */
  readyAt: number;
}

export interface Ui {
  page: 'tree' | 'run';
  /** On the tree page: the run of the cursor. On the run page: the open run. */
  selected: string | null;
  /** The first visible row. */
  top: number;
  folded: Set<string>;
  /** The widest activity that was shown at this terminal width. */
  widest: { activity: number; columns: number };
  filter: string;
  showEnded: boolean;
  tab: Tab;
  /** The first visible line of the run page; `end` follows what is added. */
  scroll: number | 'end';
  dialog: Dialog | null;
  notice: { text: string; style: Style | null } | null;
}

export function createUi(): Ui {
  return {
    page: 'tree',
    selected: null,
    top: 0,
    folded: new Set(),
    widest: { activity: 0, columns: 0 },
    filter: '',
    showEnded: false,
    tab: 'conversation',
    scroll: 'end',
    dialog: null,
    notice: null,
  };
}
