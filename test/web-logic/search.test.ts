// Where a searched text is in an excerpt.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { factTypes } from '../../src/contract/fact.ts';
import { describePlace, splitMatches } from '../../web/src/pages/search/matches.ts';

const marked = (text: string, query: string) =>
  splitMatches(text, query)
    .map((piece) => (piece.isMatch ? `[${piece.text}]` : piece.text))
    .join('');

it('marks each occurrence, whatever its case', () => {
  expect(marked('Read the README, then read on', 'read')).toBe('[Read] the [READ]ME, then [read] on');
  expect(marked('nothing here', 'absent')).toBe('nothing here');
  expect(marked('', 'x')).toBe('');
});

it('takes characters of patterns and markup literally', () => {
  expect(marked('a.b a+b (x) [y] <b>', '.')).toBe('a[.]b a+b (x) [y] <b>');
  expect(marked('cost is $5 (approx)', '$5 (')).toBe('cost is [$5 (]approx)');
  expect(marked('<img src=x onerror=alert(1)>', '<img')).toBe('[<img] src=x onerror=alert(1)>');
});

it('loses nothing of the text, for any query', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (text, query) => {
      const pieces = splitMatches(text, query);
      expect(pieces.map((piece) => piece.text).join('')).toBe(text);
      for (const piece of pieces) if (piece.isMatch) expect(piece.text).not.toBe('');
    }),
    { numRuns: 500 },
  );
});

it('has words for every type of record', () => {
  // Records without text of their own cannot be found.
  const silent = ['model.asked', 'context.pruned'];
  expect(factTypes().filter((type) => describePlace(type) === type && !silent.includes(type))).toEqual([]);
});
