// Lines at the bottom of a terminal that change in place.

import { textWidth } from '../../views/width.ts';
import type { Io } from '../io.ts';

/**
 * Only lines that differ are written again. The cursor rests at the beginning of the line below the last one. Lines must be sanitized and
 * narrower than the terminal.
 */
export interface LiveLines {
  update(lines: string[]): void;
  /** Prints permanent text above the lines. */
  printAbove(text: string): void;
}

export function createLiveLines(io: Pick<Io, 'err' | 'columns'>): LiveLines {
  let shown: string[] = [];
  let columns = io.columns();

  // A terminal that became narrower has wrapped the old lines, which then take more than one row each.
  const height = () => shown.reduce((rows, line) => rows + Math.max(1, Math.ceil(textWidth(removeStyles(line)) / Math.max(1, columns))), 0);
  const erase = () => (shown.length === 0 ? '' : `\x1b[${height()}A\r\x1b[J`);

  return {
    update(lines) {
      const size = io.columns();
      const isResized = size !== columns;
      columns = size;
      const text = isResized || lines.length < shown.length ? erase() + joinLines(lines) : rewriteChanged(shown, lines);
      if (text !== '') io.err(text);
      shown = lines;
    },
    printAbove(text) {
      io.err(`${erase()}${text}${joinLines(shown)}`);
    },
  };
}

function joinLines(lines: string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

function rewriteChanged(before: string[], after: string[]): string {
  let text = '';
  before.forEach((old, i) => {
    if (old === after[i]) return;
    const up = before.length - i;
    text += `\x1b[${up}A\r${after[i]}\x1b[K\x1b[${up}B\r`;
  });
  return text + joinLines(after.slice(before.length));
}

function removeStyles(line: string): string {
  return line.replace(/\x1b\[\d+m/g, '');
}
