// A terminal made of memory: it carries out what a program writes and shows what a person would see. It knows the sequences that the screen
// uses; every other control character or sequence is kept in `unknown`, so that a test can demand that there are none.

export interface Terminal {
  /** What is on the screen now, without blanks at the ends of lines. */
  lines(): string[];
  text(): string;
  write(data: string): void;
  /** Like a real one: lines are cut or filled up, and the cursor stays inside. */
  resize(columns: number, rows: number): void;
  /** Whether the alternate screen is shown, the cursor is visible, and pasted text is bracketed. */
  modes: { isAlternate: boolean; isCursorVisible: boolean; isBracketedPaste: boolean };
  unknown: string[];
  /** Sequences that set colours and styles. */
  styles: string[];
  /** How often text ran over the right edge. */
  overflows: number;
}

interface Screen {
  cells: string[][];
  row: number;
  column: number;
  /** The last column was written, and the next character goes to the next line. */
  isWrapPending: boolean;
}

const sequence = /\x1b\[([?>]?[\d;]*)([ -/]*[@-~])|\x1b[78=>]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/y;
const blank = ' ';

export function createTerminal(size: { columns: number; rows: number }): Terminal {
  let { columns, rows } = size;
  const main = createScreen();
  let screen = main;
  let rest = '';
  const terminal: Terminal = {
    modes: { isAlternate: false, isCursorVisible: true, isBracketedPaste: false },
    unknown: [],
    styles: [],
    overflows: 0,
    lines: () => screen.cells.map((row) => row.join('').trimEnd()),
    text: () => terminal.lines().join('\n').trimEnd(),
    write(data) {
      const text = rest + data;
      rest = '';
      for (let at = 0; at < text.length; ) {
        sequence.lastIndex = at;
        const found = sequence.exec(text);
        if (found) {
          obey(found[0], found[1] ?? '', found[2] ?? '');
          at += found[0].length;
        } else if (text[at] === '\x1b' && text.length - at < 32) {
          rest = text.slice(at);
          return;
        } else {
          const character = String.fromCodePoint(text.codePointAt(at) as number);
          put(character);
          at += character.length;
        }
      }
    },
    resize(newColumns, newRows) {
      columns = newColumns;
      rows = newRows;
      for (const each of new Set([main, screen])) {
        // A terminal that loses rows keeps the row of the cursor.
        while (each.cells.length > rows) {
          if (each.row >= rows) {
            each.cells.shift();
            each.row--;
          } else each.cells.pop();
        }
        while (each.cells.length < rows) each.cells.push(blankRow());
        each.cells = each.cells.map((row) => [...row, ...blankRow()].slice(0, columns));
        each.column = Math.min(each.column, columns - 1);
        each.isWrapPending = false;
      }
    },
  };

  function blankRow(): string[] {
    return Array.from({ length: columns }, () => blank);
  }

  function createScreen(): Screen {
    return { cells: Array.from({ length: rows }, blankRow), row: 0, column: 0, isWrapPending: false };
  }

  function lineFeed(): void {
    if (screen.row < rows - 1) screen.row++;
    else {
      screen.cells.shift();
      screen.cells.push(blankRow());
    }
  }

  function put(character: string): void {
    if (character === '\n') {
      // Terminals of programs in raw mode still turn a line feed into a new line.
      screen.column = 0;
      screen.isWrapPending = false;
      lineFeed();
      return;
    }
    if (character === '\r') {
      screen.column = 0;
      screen.isWrapPending = false;
      return;
    }
    if (/[\x00-\x1f\x7f-\x9f]/.test(character)) return void terminal.unknown.push(JSON.stringify(character));
    const width = cellWidth(character);
    if (width === 0) {
      const before = Math.max(0, screen.isWrapPending ? screen.column : screen.column - 1);
      const row = screen.cells[screen.row] as string[];
      row[before] += character;
      return;
    }
    if (screen.isWrapPending || screen.column + width > columns) {
      terminal.overflows++;
      screen.column = 0;
      screen.isWrapPending = false;
      lineFeed();
    }
    const row = screen.cells[screen.row] as string[];
    row[screen.column] = character;
    if (width === 2) row[screen.column + 1] = '';
    screen.isWrapPending = screen.column + width >= columns;
    screen.column = Math.min(columns - 1, screen.column + width);
  }

  function move(row: number, column: number): void {
    screen.row = Math.max(0, Math.min(rows - 1, row));
    screen.column = Math.max(0, Math.min(columns - 1, column));
    screen.isWrapPending = false;
  }

  function erase(row: number, from: number, to: number): void {
    const cells = screen.cells[row] as string[];
    for (let i = from; i < to; i++) cells[i] = blank;
  }

  function obey(whole: string, parameters: string, command: string): void {
    const [first = Number.NaN, second = Number.NaN] = parameters.split(';').map((each) => (each === '' ? Number.NaN : Number(each)));
    const count = Number.isNaN(first) || first === 0 ? 1 : first;
    const { row, column } = screen;
    if (command === 'A') move(row - count, column);
    else if (command === 'B') move(row + count, column);
    else if (command === 'C') move(row, column + count);
    else if (command === 'D') move(row, column - count);
    else if (command === 'E') move(row + count, 0);
    else if (command === 'F') move(row - count, 0);
    else if (command === 'G') move(row, count - 1);
    else if (command === 'H') move(count - 1, (Number.isNaN(second) ? 1 : second) - 1);
    else if (command === 'K') {
      const mode = Number.isNaN(first) ? 0 : first;
      erase(row, mode === 0 ? column : 0, mode === 1 ? column + 1 : columns);
    } else if (command === 'J') {
      const mode = Number.isNaN(first) ? 0 : first;
      if (mode === 0) erase(row, column, columns);
      for (let i = mode === 0 ? row + 1 : 0; i < rows; i++) erase(i, 0, columns);
    } else if (command === 'm') terminal.styles.push(whole);
    else if (/^\x1b\[\?\d+[hl]$/.test(whole)) setMode(parameters, command === 'h');
    else terminal.unknown.push(JSON.stringify(whole));
  }

  function setMode(parameters: string, isOn: boolean): void {
    if (parameters === '?1049') {
      terminal.modes.isAlternate = isOn;
      screen = isOn ? createScreen() : main;
    } else if (parameters === '?25') terminal.modes.isCursorVisible = isOn;
    else if (parameters === '?2004') terminal.modes.isBracketedPaste = isOn;
    // Synchronized output changes nothing that is shown.
    else if (parameters !== '?2026') terminal.unknown.push(`mode ${parameters}`);
  }

  return terminal;
}

/** Of one code point, as terminals count that know nothing of sequences: emoji and East Asian characters two, marks none. */
function cellWidth(character: string): number {
  const code = character.codePointAt(0) as number;
  if (/^[\p{Mn}\p{Me}\p{Cf}]$/u.test(character)) return 0;
  return /^\p{Emoji_Presentation}$/u.test(character) || wide.some(([from, to]) => code >= from && code <= to) ? 2 : 1;
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** The most columns that a line takes: by code points, or by sequences, in which a selector makes an emoji of two columns. */
export function widestWidth(line: string): number {
  const byCharacter = [...line].reduce((sum, character) => sum + cellWidth(character), 0);
  const bySequence = Array.from(segmenter.segment(line), ({ segment }) => {
    const [first = ''] = segment;
    return segment.includes('\ufe0f') || /^\p{Regional_Indicator}{2}$/u.test(segment) ? 2 : cellWidth(first);
  }).reduce((sum, width) => sum + width, 0);
  return Math.max(byCharacter, bySequence);
}

/** Unicode's East Asian Width W and F, beside those that \p{Emoji_Presentation} has. */
const wide = (
  '1100-115f 2329-232a 2630-2637 268a-268f 2e80-2e99 2e9b-2ef3 2f00-2fd5 2ff0-303e 3041-3096 3099-30ff 3105-312f 3131-318e 3190-31e5 ' +
  '31ef-321e 3220-3247 3250-a48c a490-a4c6 a960-a97c ac00-d7a3 f900-faff fe10-fe19 fe30-fe52 fe54-fe66 fe68-fe6b ff01-ff60 ffe0-ffe6 ' +
  '16fe0-16fe4 16ff0-16ff6 17000-18cda 18cff-18d20 18d80-18df2 1aff0-1affe 1b000-1b128 1b132-1b132 1b150-1b152 1b155-1b155 1b164-1b168 ' +
  '1b170-1b2fb 1d300-1d356 1d360-1d376 1f200-1f202 1f210-1f23b 1f240-1f248 1f260-1f265 20000-2fffd 30000-3fffd'
)
  .split(' ')
  .map((range) => range.split('-').map((hex) => Number.parseInt(hex, 16)) as [number, number]);
