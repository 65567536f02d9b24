import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { markInvisible } from '../../src/text/invisible.ts';
import { cpuMs } from '../support/cpu-time.ts';

describe('an invisible character becomes a mark', () => {
  const table: [what: string, text: string, shown: string][] = [
    ['NUL, bell, escape', 'a\0\x07\x1b[31mb', 'a⟦U+0000⟧⟦U+0007⟧⟦U+001B⟧[31mb'],
    ['DEL and C1', 'a\x7f\x85\x9bb', 'a⟦U+007F⟧⟦U+0085⟧⟦U+009B⟧b'],
    ['a carriage return alone', 'real\rfake', 'real⟦U+000D⟧fake'],
    ['bidirectional overrides', 'a\u202egpj.exe\u202c', 'a⟦U+202E⟧gpj.exe⟦U+202C⟧'],
    ['isolates and marks', '\u2066a\u2069\u200e\u200f\u061c', '⟦U+2066⟧a⟦U+2069⟧⟦U+200E⟧⟦U+200F⟧⟦U+061C⟧'],
    ['zero width', 'pass\u200bword\u2060\ufeff', 'pass⟦U+200B⟧word⟦U+2060⟧⟦U+FEFF⟧'],
    ['a joiner between Latin letters', 'ad\u200dmin\u200c', 'ad⟦U+200D⟧min⟦U+200C⟧'],
    ['joiners in a row', '\u0645\u200c\u200c\u06cc', '\u0645⟦U+200C⟧⟦U+200C⟧\u06cc'],
    ['soft hyphen, grapheme joiner, fillers', 'a\u00ad\u034f\u115f\u3164b', 'a⟦U+00AD⟧⟦U+034F⟧⟦U+115F⟧⟦U+3164⟧b'],
    ['tags', 'x\u{e0069}\u{e0067}', 'x⟦U+E0069⟧⟦U+E0067⟧'],
    ['a flag that is none', '\u{1f3f4}\u{e0072}\u{e006d}\u{e007f}', '\u{1f3f4}⟦U+E0072⟧⟦U+E006D⟧⟦U+E007F⟧'],
    ['selectors behind a letter', 'a\ufe0f\ufe01', 'a⟦U+FE0F⟧⟦U+FE01⟧'],
    ['selectors behind a pictograph, one after the other', '😀\ufe0f\u{e0101}\u{e0102}', '😀\ufe0f⟦U+E0101⟧⟦U+E0102⟧'],
    ['annotations', '\ufff9a\ufffab\ufffb', '⟦U+FFF9⟧a⟦U+FFFA⟧b⟦U+FFFB⟧'],
    ['separators of lines', 'a\u2028b\u2029', 'a⟦U+2028⟧b⟦U+2029⟧'],
    ['invisible operators', 'f\u2061(x)\u2062', 'f⟦U+2061⟧(x)⟦U+2062⟧'],
  ];
  it.each(table)('%s', (_, text, shown) => expect(markInvisible(text)).toBe(shown));

  it('a lone surrogate', () => expect(markInvisible('a\ud800b')).toBe('a\ufffdb'));

  it('a long sequence becomes a short text', () => {
    const shown = markInvisible(`x${'\u{e0041}'.repeat(5000)}y`);
    expect(shown).toBe(`x${'⟦U+E0041⟧'.repeat(12)}⟦4988 more invisible characters⟧y`);
  });
});

it.each([
  ['plain text', 'a\tb\nc – “quoted”, naïve, 世界, Привет'],
  ['Persian', 'می\u200cخواهم'],
  ['Hindi', 'क्\u200dष और श्\u200cर'],
  ['Sinhala', 'ශ්\u200dරී'],
  ['a family, a profession, a skin tone', '👨\u200d👩\u200d👧 👩🏽\u200d💻 🏃🏽\u200d♀\ufe0f ❤\ufe0f\u200d🔥'],
  ['flags and keycaps', '🏳\ufe0f\u200d🌈 🇩🇪 1\ufe0f\u20e3 #\ufe0f\u20e3'],
  ['flags of tags', '\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'],
  ['variants of ideographs and symbols', '葛\ufe00 ≨\ufe00'],
  ['Mongolian', '\u182a\u180b'],
])('%s is kept', (_, text) => expect(markInvisible(text)).toBe(text));

it('Windows line ends become newlines', () => expect(markInvisible('a\r\nb')).toBe('a\nb'));

const pieces = fc.constantFrom(
  'a',
  'م',
  'क',
  '😀',
  '👩',
  '\u200c',
  '\u200d',
  '\ufe0f',
  '\u202e',
  '\u{e0067}',
  '\x1b',
  '\r',
  '\n',
  '⟦U+',
  '⟧',
  '\ud83d',
  '1',
  '\u20e3',
);
const texts = fc.oneof(
  fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary' }),
);

it('marking twice changes nothing, and no control is left in any text', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const once = markInvisible(text);
      expect(markInvisible(once)).toBe(once);
      expect(once).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff\u{e0000}-\u{e0060}]/u);
    }),
    { numRuns: 3000 },
  );
});

it('takes time proportional to the text', () => {
  for (const piece of ['\u200d', '\ufe0f', '😀\u200d', '\u{1f3f4}\u{e0067}', '\x1b[', '葛\ufe00']) {
    const text = piece.repeat(300_000);
    expect(cpuMs(() => markInvisible(text))).toBeLessThan(3000);
  }
});
