import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sanitizeLine, sanitizeText, stringifySafely } from '../../src/text/terminal.ts';
import { cpuMs } from '../support/cpu-time.ts';

// FAULTS 63: what a model, a file or a fact may contain.
const corpus: [what: string, text: string, shown: string][] = [
  ['plain text', 'a\tb\nc', 'a\tb\nc'],
  ['an emoji of several characters', '👩\u200d💻', '👩\u200d💻'],
  ['letters beyond ASCII', 'Grüße, 世界 🎉', 'Grüße, 世界 🎉'],
  ['colour', '\x1b[1;31mred\x1b[0m', 'red'],
  ['OSC 0, the title', 'a\x1b]0;owned\x07b', 'ab'],
  ['OSC 8, a link', '\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\', 'click'],
  ['OSC 52, the clipboard', 'x\x1b]52;c;cm0gLXJm\x07y', 'xy'],
  ['OSC by C1, ended by ST', 'x\x9d0;t\x9cy', 'xy'],
  ['OSC without an end', 'a\x1b]0;never\nnext line', 'a⟦U+001B⟧]0;never\nnext line'],
  ['OSC that would end lines later', 'a\x1b]0;x\nseen\x07b', 'a⟦U+001B⟧]0;x\nseen⟦U+0007⟧b'],
  ['DCS', 'a\x1bP1$qm\x1b\\b', 'ab'],
  ['APC', 'a\x1b_Gi=1;AAAA\x1b\\b', 'ab'],
  ['PM', 'a\x1b^secret\x1b\\b', 'ab'],
  ['SOS', 'a\x1bXsecret\x1b\\b', 'ab'],
  ['CSI 6n, a report', 'a\x1b[6nb', 'ab'],
  ['CSI by C1', 'a\x9b31mb', 'ab'],
  ['CSI without an end', 'a\x1b[31', 'a⟦U+001B⟧[31'],
  ['erasing the screen', '\x1b[2J\x1b[Hgone', 'gone'],
  ['reset', 'a\x1bcb', 'ab'],
  ['charset', 'a\x1b(0b', 'ab'],
  ['ESC at the end', 'a\x1b', 'a⟦U+001B⟧'],
  ['ESC inside a sequence', '\x1b\x1b[0m[31mx', '⟦U+001B⟧[31mx'],
  ['C1 alone', 'a\x85b\x84c', 'a⟦U+0085⟧b⟦U+0084⟧c'],
  ['overwriting', 'safe\rEVIL', 'safe⟦U+000D⟧EVIL'],
  ['line ends of Windows', 'a\r\nb', 'a\nb'],
  ['backspace, bell, NUL, DEL', 'a\b\x07\0\x7fb', 'a⟦U+0008⟧⟦U+0007⟧⟦U+0000⟧⟦U+007F⟧b'],
  ['bidi override', 'a\u202egpj.exe\u202c', 'a⟦U+202E⟧gpj.exe⟦U+202C⟧'],
  ['bidi isolates and marks', '\u2066a\u2069\u200f\u061cb', '⟦U+2066⟧a⟦U+2069⟧⟦U+200F⟧⟦U+061C⟧b'],
  ['zero width', 'a\u200b\u200c\u200d\u2060\ufeffb', 'a⟦U+200B⟧⟦U+200C⟧⟦U+200D⟧⟦U+2060⟧⟦U+FEFF⟧b'],
  ['soft hyphen and tags', 'a\u00ad\u{e0041}\u{e007f}b', 'a⟦U+00AD⟧⟦U+E0041⟧⟦U+E007F⟧b'],
  ['line separators', 'a\u2028b\u2029c', 'a⟦U+2028⟧b⟦U+2029⟧c'],
  ['half a character', 'a\ud800b', 'a\ufffdb'],
];

describe('text for a terminal', () => {
  it.each(corpus)('%s', (_, text, shown) => {
    expect(sanitizeText(text)).toBe(shown);
  });

  const dangerous = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/;

  it('leaves nothing that a terminal acts on, whatever comes', () => {
    const pieces = fc.constantFrom('\x1b', '[', ']', 'P', '_', '\\', '\x07', '\x9b', '\x9d', '\x9c', ';', '3', 'm', 'a', '\n', '\u202e');
    fc.assert(
      fc.property(
        fc.array(pieces).map((parts) => parts.join('')),
        (text) => {
          expect(sanitizeText(text)).not.toMatch(dangerous);
          expect(sanitizeLine(text)).not.toMatch(/[\n\t]/);
        },
      ),
    );
  });

  it('takes no longer than the text is long', () => {
    for (const piece of ['\x9d', '\x1b]', '\x1b[0', '\x1bP', '\x9b;', '\x1b ']) {
      const text = piece.repeat(200_000);
      expect(cpuMs(() => sanitizeText(text))).toBeLessThan(1000);
    }
  });

  it.each(corpus)('JSON stays the same value and is safe: %s', (_, text) => {
    const json = stringifySafely({ text });
    expect(json).not.toMatch(dangerous);
    expect(JSON.parse(json).text).toBe(text);
  });
});
