// The texts of one row of the tree of runs.
import { isLive } from '../../contract/run-status.ts';
import type { LiveRun } from '../../contract/view.ts';
import { shortId } from '../../views/format.ts';
import type { LiveState } from '../../views/live-state.ts';
import { describeActivity, displayName, endText, hasProblems, problemsText, runGlyph } from '../../views/run-row.ts';
import type { Style } from '../../views/style.ts';
import type { TreeRow } from '../../views/tree-rows.ts';
import { cutToWidth } from '../../views/width.ts';
import { toDrawable } from './drawable.ts';
import { describeSources } from './run-figures.ts';

const maxIndent = 24;

export function nameText(row: TreeRow): string {
  const [lead, glyph, name] = nameTexts(row);
  return `${lead}${glyph} ${name}`;
}

export function nameTexts({ run, status, depth, fold, hidden }: TreeRow): [lead: string, glyph: string, name: string] {
  const marker = fold === 'none' ? ' ' : fold === 'folded' ? '▸' : '▾';
  const lead = `${' '.repeat(Math.min(maxIndent, 2 * depth))}${marker} `;
  return [lead, runGlyph(run, status), `${toDrawable(displayName(run))}${hidden > 0 ? ` (+${hidden})` : ''}`];
}

export function activityText({ run, status }: TreeRow, state: LiveState): string {
  if (status === 'interrupted') return 'interrupted: its process is gone; P continues it';
  const problems = problemsText(run);
  // What went wrong comes first: the end of the text may be cut.
  if (run.status === 'completed') return problems === '' ? endText(run) : `${problems}; ${endText(run)}`;
  const text = describeActivity(run, state, 'P continues it');
  const marks = [isLive(run.status) ? problems : '', describeSources(run.taint)].filter((mark) => mark !== '');
  return (run.questions > 0 || !isLive(run.status) ? [text, ...marks] : [...marks, text]).join(' · ');
}

export function activityStyle({ run, status }: Pick<TreeRow, 'run' | 'status'>): Style | null {
  if (run.questions > 0 || status === 'interrupted' || status === 'paused') return 'yellow';
  if (status === 'failed' || status === 'timed_out') return 'red';
  if (hasProblems(run)) return 'yellow';
  return isLive(run.status) ? null : 'dim';
}

/** `“name” (3f2a91c0)`, for questions and results. */
export function nameRun(run: LiveRun, columns = 40): string {
  return `“${cutToWidth(displayName(run), columns)}” (${shortId(run.id)})`;
}
