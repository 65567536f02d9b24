// A recorded change of a file.
import { sanitizeLine, sanitizeText } from '../../text/terminal.ts';
import { countChangedLines } from '../../views/changes.ts';
import type { Style } from '../../views/style.ts';
import type { View } from './deps.ts';
import { joinParts, wrapStyled } from './line.ts';

/** The file with the number of its added and removed lines, and the diff below it, without the lines that name the file again. */
export function diffLines(title: string, diff: string, { indent, view }: { indent: number; view: View }): string[] {
  const { added, removed } = countChangedLines(diff);
  const lines = sanitizeText(diff.trimEnd()).split('\n');
  const start = Math.max(
    0,
    lines.findIndex((line) => line.startsWith('@@')),
  );
  const head = joinParts(
    [
      [`${' '.repeat(indent)}${sanitizeLine(title)}`, 'bold'],
      [`  +${added}`, 'green'],
      [` -${removed}`, 'red'],
    ],
    view,
  );
  return [head, ...lines.slice(start).flatMap((line) => wrapStyled(line, view, { indent: indent + 2, style: lineStyle(line) }))];
}

function lineStyle(line: string): Style | null {
  return line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : line.startsWith('@') ? 'cyan' : 'dim';
}
