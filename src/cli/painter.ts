import type { Io } from './io.ts';
import { width } from './width.ts';

/**
 * Lines at the foot of a terminal that change in place. Only lines that differ are written again; the cursor rests at the
 * beginning of the line below the last one. Lines must be cleaned, painted and narrower than the terminal already.
 */
export interface Painter {
  paint(lines: string[]): void;
  /** Prints above the lines, once and for good. */
  note(text: string): void;
}

export function createPainter(io: Pick<Io, 'err' | 'columns'>): Painter {
  let shown: string[] = [];
  let columns = io.columns();

  // A terminal that became narrower has wrapped the old lines; they then take more rows than there are lines.
  const height = () => shown.reduce((rows, line) => rows + Math.max(1, Math.ceil(width(bare(line)) / Math.max(1, columns))), 0);
  const erase = () => (shown.length === 0 ? '' : `\x1b[${height()}A\r\x1b[J`);

  return {
    paint(lines) {
      const size = io.columns();
      const moved = size !== columns;
      columns = size;
      const text = moved || lines.length < shown.length ? erase() + whole(lines) : changes(shown, lines);
      if (text !== '') io.err(text);
      shown = lines;
    },
    note(text) {
      io.err(`${erase()}${text}${whole(shown)}`);
    },
  };
}

function whole(lines: string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

function changes(before: string[], after: string[]): string {
  let text = '';
  before.forEach((old, i) => {
    if (old === after[i]) return;
    const up = before.length - i;
    text += `\x1b[${up}A\r${after[i]}\x1b[K\x1b[${up}B\r`;
  });
  return text + whole(after.slice(before.length));
}

function bare(line: string): string {
  return line.replace(/\x1b\[\d+m/g, '');
}
