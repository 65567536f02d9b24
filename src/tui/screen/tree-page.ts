// One row of the tree of runs, and the titles above them.
import { isLive } from '../../contract/run-status.ts';
import { sanitizeLine } from '../../text/terminal.ts';
import { formatCost, formatCount } from '../../views/format.ts';
import type { LiveState } from '../../views/live-state.ts';
import { elapsedTime, formatTurn, isLate, runStyle } from '../../views/run-row.ts';
import type { Style } from '../../views/style.ts';
import type { TreeRow } from '../../views/tree-rows.ts';
import { cutToWidth, padToWidth, textWidth } from '../../views/width.ts';
import type { View } from './deps.ts';
import { toDrawable } from './drawable.ts';
import { highlight, joinParts, type Part } from './line.ts';
import { activityStyle, activityText, nameTexts } from './row-texts.ts';
import { timeText } from './run-figures.ts';
import { columnGap, type TreeColumns } from './tree-columns.ts';

export function renderTitles(layout: TreeColumns, view: View): string {
  const cell = (title: string, width: number, side: 'left' | 'right' = 'left') =>
    width === 0 ? '' : ' '.repeat(columnGap) + padToWidth(cutToWidth(title, width), width, side);
  const text = [
    ` ${padToWidth(cutToWidth('RUN', layout.name), layout.name)}`,
    cell('AGENT', layout.agent),
    cell('MODEL', layout.model),
    cell('TURN', layout.turn, 'right'),
    cell('NOW', layout.activity),
    cell(layout.hasLimit ? 'TIME/LIMIT' : 'TIME', layout.time, 'right'),
    cell('TOKENS', layout.tokens, 'right'),
    cell('COST', layout.cost, 'right'),
  ].join('');
  return joinParts([[text.trimEnd(), 'dim']], view);
}

export interface RowOptions {
  layout: TreeColumns;
  isSelected: boolean;
  view: View;
}

export function renderRow(row: TreeRow, state: LiveState, { layout, isSelected, view }: RowOptions): string {
  const { run } = row;
  const cell = (text: string, width: number, { side = 'left', as = 'dim' }: { side?: 'left' | 'right'; as?: Style | null } = {}): Part[] =>
    width === 0 ? [] : [[' '.repeat(columnGap)], [padToWidth(cutToWidth(toDrawable(text), width), width, side), as]];
  const time = layout.hasLimit ? timeText(run, view.now) : elapsedTime(run, view.now);
  const parts: Part[] = [
    [isSelected ? '›' : ' '],
    ...nameParts(row, layout.name),
    ...cell(sanitizeLine(run.agent ?? run.kind), layout.agent),
    ...cell(sanitizeLine(run.model ?? ''), layout.model),
    ...cell(formatTurn(run), layout.turn, { side: 'right' }),
    ...cell(activityText(row, state), layout.activity, { as: activityStyle(row) }),
    ...cell(time, layout.time, { side: 'right', as: isLate(run, view.now) ? 'yellow' : 'dim' }),
    ...cell(run.tokens > 0 ? formatCount(run.tokens) : '', layout.tokens, { side: 'right' }),
    ...cell(formatCost(run.costUsd), layout.cost, { side: 'right' }),
  ];
  return isSelected ? highlight(parts, view) : joinParts(parts, view);
}

/** Only the mark has a colour. What has ended is dim, unless it matches a filter. */
function nameParts(row: TreeRow, width: number): Part[] {
  const { run, status, isMatch } = row;
  const [lead, glyph, name] = nameTexts(row);
  const rest = padToWidth(cutToWidth(` ${name}`, width - textWidth(lead) - 1), width - textWidth(lead) - 1);
  if (width <= textWidth(lead) + 1) return [[padToWidth(cutToWidth(`${lead}${glyph}`, width), width)]];
  const style = !isMatch || !isLive(run.status) ? 'dim' : run.parentId === null ? 'bold' : null;
  return [
    [lead, 'dim'],
    [glyph, runStyle(run, status)],
    [rest, style],
  ];
}
