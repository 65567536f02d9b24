import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createLiveLines } from '../../../src/cli/progress/live-lines.ts';

/** As much of a terminal as the painter uses. */
function terminal() {
  const screen: string[] = [''];
  let row = 0;
  let column = 0;
  let bytes = 0;
  const write = (text: string) => {
    bytes += text.length;
    for (const [piece, sequence, number, letter] of text.matchAll(/(\x1b\[(\d*)([A-Z]))|[\s\S]/g)) {
      if (sequence) {
        if (letter === 'A') row -= Number(number);
        if (letter === 'B') row += Number(number);
        if (letter === 'K') screen[row] = (screen[row] as string).slice(0, column);
        if (letter === 'J') screen.splice(row, screen.length - row, '');
      } else if (piece === '\r') column = 0;
      else if (piece === '\n') {
        row += 1;
        column = 0;
        screen[row] ??= '';
      } else {
        const line = (screen[row] as string).padEnd(column);
        screen[row] = line.slice(0, column) + piece + line.slice(column + 1);
        column += 1;
      }
      expect(row).toBeGreaterThanOrEqual(0);
    }
  };
  return { write, lines: () => screen.slice(0, row), at: () => [row, column], written: () => bytes };
}

it('shows the last lines painted, under everything noted, whatever changed', () => {
  const line = fc.constantFrom('a', 'bb', 'a longer line', '');
  const step = fc.oneof(fc.array(line, { maxLength: 5 }), fc.constantFrom('note one', 'note two'));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const screen = terminal();
      const painter = createLiveLines({ err: screen.write, columns: () => 80 });
      const notes: string[] = [];
      let shown: string[] = [];
      for (const each of steps) {
        if (typeof each === 'string') {
          notes.push(each);
          painter.printAbove(`${each}\n`);
        } else {
          shown = each;
          painter.update(each);
        }
        expect(screen.lines()).toEqual([...notes, ...shown]);
        expect(screen.at()[1]).toBe(0);
      }
    }),
  );
});

it('writes nothing where nothing changed, and only the line that did', () => {
  const screen = terminal();
  const painter = createLiveLines({ err: screen.write, columns: () => 80 });
  const lines = Array.from({ length: 20 }, (_, i) => `line ${i} ${'x'.repeat(60)}`);
  painter.update(lines);
  const before = screen.written();
  painter.update([...lines]);
  expect(screen.written()).toBe(before);
  painter.update(lines.with(3, 'other'));
  expect(screen.written() - before).toBeLessThan(30);
});
