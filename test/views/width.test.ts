import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutToWidth, padToWidth, textWidth } from '../../src/views/width.ts';
import { wrapText } from '../../src/views/wrap.ts';
import { widestWidth } from '../support/terminal.ts';

const samples = [
  'a',
  ' ',
  'ä',
  'e\u0301',
  '界',
  '한',
  'ｱ',
  '👍',
  '👍🏽',
  '👨‍👩‍👧',
  '❤️',
  '☺',
  '1️⃣',
  '🇩🇪',
  '🇩',
  '☰',
  '⚡',
  'ก็',
  'क्षि',
  '●',
  '…',
];
const text = fc.array(fc.constantFrom(...samples), { maxLength: 60 }).map((parts) => parts.join(''));

describe('the width of a text', () => {
  it.each([
    ['ascii', 'abc', 3],
    ['wide characters', '界한', 4],
    ['combining marks', 'e\u0301', 1],
    ['emoji', '👍⚡', 4],
    ['text symbols', '☺●', 2],
    ['an emoji made by a selector', '❤️', 2],
  ])('%s', (_, given, width) => expect(textWidth(given)).toBe(width));

  it('is never less than a terminal uses, by characters or by sequences', () => {
    fc.assert(
      fc.property(text, (given) => {
        expect(textWidth(given)).toBeGreaterThanOrEqual(widestWidth(given));
      }),
    );
  });

  it('is kept by cutting and padding', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 40 }), (given, columns) => {
        const cut = cutToWidth(given, columns);
        expect(textWidth(cut)).toBeLessThanOrEqual(columns);
        expect(cut === given || (cut.endsWith('…') && given.startsWith(cut.slice(0, -1)))).toBe(true);
        expect(textWidth(padToWidth(cut, columns))).toBe(columns);
      }),
    );
  });
});

describe('wrapped text', () => {
  it('has whole words where they fit, and indents like the first line', () => {
    expect(wrapText('one two three', 8)).toEqual(['one two', 'three']);
    expect(wrapText('  one two three', 9)).toEqual(['  one two', '  three']);
    expect(wrapText('a verylongword b', 6)).toEqual(['a', 'verylo', 'ngword', 'b']);
    expect(wrapText('a\n\nb\tc', 20)).toEqual(['a', '', 'b    c']);
  });

  it('loses nothing but blanks, and no line is too wide', () => {
    const words = fc
      .array(fc.oneof(text, fc.constantFrom(' ', '  ', '\n', 'word', 'x'.repeat(30))), { maxLength: 30 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(words, fc.integer({ min: 6, max: 60 }), (given, columns) => {
        const lines = wrapText(given, columns);
        expect(lines.join('').replace(/\s/g, '')).toBe(given.replace(/\s/g, ''));
        for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(columns);
      }),
    );
  });
});
