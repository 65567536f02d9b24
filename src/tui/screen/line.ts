// Lines of the screen, built from styled parts. Each is at most as wide as the terminal; texts are sanitized already.
import { paint, type Style } from '../../views/style.ts';
import { cutToWidth, padToWidth, textWidth } from '../../views/width.ts';
import { wrapText } from '../../views/wrap.ts';
import type { View } from './deps.ts';

export type Part = [text: string, style?: Style | null];

type Look = Pick<View, 'columns' | 'colour'>;

/** The parts beside each other, cut at the right edge. */
export function joinParts(parts: Part[], { columns, colour }: Look): string {
  let room = columns;
  let line = '';
  for (const [text, style = null] of parts) {
    if (room <= 0) break;
    const kept = cutToWidth(text, room);
    room -= textWidth(kept);
    line += paint(colour, style, kept);
  }
  return line;
}

/** A line that fills the width in reverse colours; without colours, its text. */
export function highlight(parts: Part[], { columns, colour }: Look): string {
  const text = cutToWidth(parts.map(([each]) => each).join(''), columns);
  return paint(colour, 'inverse', padToWidth(text, colour ? columns : 0));
}

/** `left` and `right` at the two edges; `right` is dropped first. */
export function spread(left: Part[], right: Part[], look: Look): string {
  const size = (parts: Part[]) => parts.reduce((sum, [text]) => sum + textWidth(text), 0);
  const gap = look.columns - size(left) - size(right);
  return gap < 2 ? joinParts(left, look) : joinParts([...left, [' '.repeat(gap)], ...right], look);
}

/** Text in whole words, each line indented and in one style. */
export function wrapStyled(
  text: string,
  look: Look,
  { indent = 0, style = null }: { indent?: number; style?: Style | null } = {},
): string[] {
  const room = Math.max(1, look.columns - indent);
  return wrapText(text, room).map((line) => joinParts([[' '.repeat(Math.min(indent, look.columns - 1))], [line, style]], look));
}
