// Lines of the screen, built from styled parts. Each is at most as wide as the terminal and drawable on any (drawable.ts).
import { paint, type Style } from '../../views/style.ts';
import { cutToWidth, padToWidth, textWidth } from '../../views/width.ts';
import { wrapText } from '../../views/wrap.ts';
import type { View } from './deps.ts';
import { toDrawable } from './drawable.ts';

export type Part = [text: string, style?: Style | null];

type Look = Pick<View, 'columns' | 'colour'>;

/** The parts beside each other, cut at the right edge. */
export function joinParts(parts: Part[], { columns, colour }: Look): string {
  let room = columns;
  const painted: { text: string; style: Style | null }[] = [];
  for (const [text, style = null] of parts) {
    if (room <= 0) break;
    const kept = cutToWidth(toDrawable(text), room);
    room -= textWidth(kept);
    const last = painted.at(-1);
    // Blanks look the same in most styles, and fewer changes of the style are fewer bytes.
    if (last && (last.style === style || (last.style !== 'inverse' && style !== 'inverse' && kept.trim() === ''))) last.text += kept;
    else painted.push({ text: kept, style });
  }
  return painted.map(({ text, style }) => paint(colour, style, text)).join('');
}

/** A line that fills the width in reverse colours; without colours, its text. */
export function highlight(parts: Part[], { columns, colour }: Look): string {
  const text = cutToWidth(parts.map(([each]) => toDrawable(each)).join(''), columns);
  return paint(colour, 'inverse', padToWidth(text, colour ? columns : 0));
}

function partsWidth(parts: Part[]): number {
  return parts.reduce((sum, [text]) => sum + textWidth(toDrawable(text)), 0);
}

/** As many groups as fit at the left edge, the first ones, and `right` at the right edge, which is never dropped. */
export function spread(groups: Part[][], right: Part[], look: Look): string {
  const room = look.columns - partsWidth(right);
  const left: Part[] = [];
  for (const group of groups) {
    if (partsWidth([...left, ...group]) + (right.length > 0 ? 2 : 0) > room) break;
    left.push(...group);
  }
  return joinParts([...left, [' '.repeat(Math.max(0, room - partsWidth(left)))], ...right], look);
}

/** Text in whole words, each line indented and in one style. */
export function wrapStyled(
  text: string,
  look: Look,
  { indent = 0, style = null }: { indent?: number; style?: Style | null } = {},
): string[] {
  const room = Math.max(1, look.columns - indent);
  const blank: Part = [' '.repeat(Math.max(0, Math.min(indent, look.columns - 1)))];
  return drawableLines(text)
    .flatMap((line) => wrapText(line, room))
    .map((line) => joinParts([blank, [line, style]], look));
}

/** Tabs are kept: `wrapText` expands them. */
function drawableLines(text: string): string[] {
  return text.split('\n').map((line) => line.split('\t').map(toDrawable).join('\t'));
}

/** At most so many of the lines; the last one says how many are missing. */
export function limitLines(lines: string[], most: number, look: Look, indent = 0): string[] {
  if (lines.length <= most) return lines;
  const kept = lines.slice(0, Math.max(0, most - 1));
  return most <= 0 ? [] : [...kept, joinParts([[`${' '.repeat(indent)}… ${lines.length - kept.length} more lines`, 'dim']], look)];
}
