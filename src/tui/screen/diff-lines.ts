// A recorded change of a file.
import { sanitizeLine, sanitizeText } from '../../text/terminal.ts';
import { countChangedLines } from '../../views/changes.ts';
import type { CallItem } from '../../views/conversation.ts';
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

/** The result of a call without the diff at its end, if that was recorded and is shown as such. */
export function outputWithoutDiff({ output, artifacts }: CallItem): string {
  for (const { kind, value } of artifacts) {
    const names = kind === 'diff' ? value.split('\n', 2).join('\n') : '';
    const at = names.startsWith('--- ') ? output.lastIndexOf(`${names}\n`) : -1;
    if (at >= 0) return output.slice(0, at);
  }
  return output;
}
