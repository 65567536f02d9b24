// How wide each column of the tree of runs is.
import { sanitizeLine } from '../../text/terminal.ts';
import type { LiveState } from '../../views/live-state.ts';
import { formatTurn } from '../../views/run-row.ts';
import type { TreeRow } from '../../views/tree-rows.ts';
import { textWidth } from '../../views/width.ts';
import type { View } from './deps.ts';
import { toDrawable } from './drawable.ts';
import { activityText, nameText } from './row-texts.ts';
import { limitText } from './run-figures.ts';

/** 0: not shown. */
export interface TreeColumns {
  name: number;
  agent: number;
  model: number;
  turn: number;
  activity: number;
  time: number;
  tokens: number;
  cost: number;
  hasLimit: boolean;
  /** What the widest activity so far needs. */
  widestActivity: number;
}

export const columnGap = 2;
/** The terminal width from which a column is shown: the least important go first. Tokens take the place of an unknown cost. */
const minWidth = { time: 36, turn: 50, cost: 72, tokens: 92, agent: 100, limit: 112, model: 150 };
const minActivity = 8;
/** Of the room for names and activities, names get this part even if activities are long. */
const nameShare = 0.58;
const activityStep = 8;

export interface ColumnOptions {
  state: LiveState;
  view: Pick<View, 'columns'>;
  /** Of the frame before, so that columns do not jump back and forth. */
  widestActivity: number;
}

/** `rows`: the visible ones; columns are as wide as these need. */
export function layOutColumns(rows: TreeRow[], { state, view: { columns }, widestActivity }: ColumnOptions): TreeColumns {
  const widest = (text: (row: TreeRow) => string, max: number, min = 0) =>
    Math.min(max, Math.max(min, ...rows.map((row) => textWidth(text(row)))));
  const fits = (column: keyof typeof minWidth) => columns >= minWidth[column];
  const hasLimit = fits('limit') && rows.some(({ run }) => limitText(run) !== '');
  const hasCost = rows.some(({ run }) => run.costUsd !== null);
  const hasTokens = rows.some(({ run }) => run.tokens > 0);
  const fixed = {
    agent: fits('agent') ? widest(({ run }) => toDrawable(sanitizeLine(run.agent ?? run.kind)), 16, 5) : 0,
    model: fits('model') ? widest(({ run }) => toDrawable(sanitizeLine(run.model ?? '')), 28, 5) : 0,
    turn: fits('turn') ? widest(({ run }) => formatTurn(run), 7, 4) : 0,
    time: fits('time') ? (hasLimit ? 10 : 6) : 0,
    tokens: hasTokens && fits(hasCost ? 'tokens' : 'cost') ? 6 : 0,
    cost: hasCost && fits('cost') ? 7 : 0,
  };
  const used = Object.values(fixed).reduce((sum, width) => sum + (width === 0 ? 0 : width + columnGap), 0);
  const room = Math.max(0, columns - 1 - used);
  const longest = widest(nameText, columns);
  const widestNow = widest((row) => toDrawable(activityText(row, state)), columns);
  const activity = Math.max(widestActivity, Math.ceil(widestNow / activityStep) * activityStep);
  const name = Math.min(longest, Math.max(Math.floor(room * nameShare), room - columnGap - activity));
  const isAlone = room - name - columnGap < minActivity;
  return { ...fixed, hasLimit, widestActivity: activity, name: isAlone ? room : name, activity: isAlone ? 0 : room - name - columnGap };
}
