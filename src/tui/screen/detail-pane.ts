// The selected run below the tree: what its row had to cut.
import { shortId } from '../../views/format.ts';
import type { LiveState } from '../../views/live-state.ts';
import { displayName, runGlyph } from '../../views/run-row.ts';
import type { TreeRow } from '../../views/tree-rows.ts';
import type { View } from './deps.ts';
import { joinParts, limitLines, wrapStyled } from './line.ts';
import { activityStyle, activityText } from './row-texts.ts';
import { describeFigures } from './run-figures.ts';

/** With the rule above it. Always the same, so that rows do not move with the selection. */
export const detailHeight = 6;
const maxPartLines = 2;

export function renderDetail(row: TreeRow, state: LiveState, view: View): string[] {
  const { run, status } = row;
  const name = displayName(run);
  const part = (text: string, style: Parameters<typeof wrapStyled>[2]) =>
    limitLines(wrapStyled(text, view, { indent: 2, ...style }), maxPartLines, view, 2);
  const lines = [
    joinParts([['─'.repeat(view.columns), 'dim']], view),
    ...limitLines(wrapStyled(`${runGlyph(run, status)} ${name}  ${shortId(run.id)}`, view, { style: 'bold' }), maxPartLines, view),
    ...part(activityText(row, state), { style: activityStyle(row) }),
    ...part(describeFigures(run, state, { now: view.now, isBelowActivity: true }), { style: 'dim' }),
    ...(run.task === name || run.task === '' || run.kind === 'flow' ? [] : part(`Task: ${run.task}`, { style: 'dim' })),
  ].slice(0, detailHeight);
  while (lines.length < detailHeight) lines.push('');
  return lines;
}
