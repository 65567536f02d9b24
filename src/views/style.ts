// Colours and tables for a terminal. Texts given to these functions are sanitized already.
import type { ShownStatus } from './format.ts';
import { cutToWidth, padToWidth, textWidth } from './width.ts';

export type Style = 'bold' | 'dim' | 'inverse' | 'red' | 'green' | 'yellow' | 'cyan';
const codes: Record<Style, [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  inverse: [7, 27],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

/** The text in the style, if colours are on. */
export function paint(on: boolean, style: Style | null, text: string): string {
  if (!on || style === null || text === '') return text;
  const [start, end] = codes[style];
  return `\x1b[${start}m${text}\x1b[${end}m`;
}

export const statusStyle: Record<ShownStatus, Style> = {
  queued: 'dim',
  running: 'cyan',
  waiting: 'cyan',
  paused: 'yellow',
  interrupted: 'yellow',
  completed: 'green',
  failed: 'red',
  timed_out: 'red',
  cancelled: 'yellow',
  exhausted: 'yellow',
};

export interface Column {
  title: string;
  side?: 'left' | 'right';
  /** Uses the remaining width of the terminal and is cut to it. */
  flexible?: boolean;
}

/** Aligned lines; empty columns are omitted. `style` colours a cell after padding. */
export function formatTable(
  columns: Column[],
  rows: string[][],
  options: { columns: number; style?: (row: number, column: number) => Style | null; colour: boolean },
): string[] {
  const used = columns.map((_, i) => rows.some((row) => row[i] !== ''));
  const widths = columns.map((column, i) => Math.max(textWidth(column.title), ...rows.map((row) => textWidth(row[i] as string))));
  const fixed = widths.reduce((sum, w, i) => sum + (used[i] && !columns[i]?.flexible ? w + 2 : 0), 0);
  const room = Math.max(8, options.columns - fixed);
  const line = (cells: string[], style: (column: number) => Style | null) =>
    cells
      .map((cell, i) => {
        const size = columns[i]?.flexible ? Math.min(widths[i] as number, room) : (widths[i] as number);
        return used[i] ? paint(options.colour, style(i), padToWidth(cutToWidth(cell, size), size, columns[i]?.side)) : null;
      })
      .filter((cell) => cell !== null)
      .join('  ')
      .trimEnd();
  const head = columns.map((column) => column.title);
  return [line(head, () => 'dim'), ...rows.map((row, r) => line(row, (c) => options.style?.(r, c) ?? null))];
}
