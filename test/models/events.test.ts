import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createBoundCheck, defaultBounds } from '../../src/models/providers/bounds.ts';
import { createEventReader } from '../../src/models/providers/events.ts';

function read(chunks: Iterable<Uint8Array | string>, bounds = defaultBounds): string[] {
  const events: string[] = [];
  const reader = createEventReader(bounds, (data) => events.push(data));
  for (const chunk of chunks) reader.push(Buffer.from(chunk as string));
  return events;
}

/** The bytes, split at these positions. */
function cut(bytes: Buffer, at: number[]): Buffer[] {
  const places = [0, ...at.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

const data = fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => text.replace(/[\r\n]/g, ' '));

test('events are complete, however lines end and packets are split', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(data, { minLength: 1, maxLength: 3 }), { maxLength: 5 }),
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.array(fc.nat(1000), { maxLength: 8 }),
      fc.boolean(),
      (events, end, at, marked) => {
        const lines = events.flatMap((event) => [': ping', 'event: x', ...event.map((line) => `data: ${line}`), 'id: 7', '']);
        const bytes = Buffer.from((marked ? '\ufeff' : '') + lines.map((line) => line + end).join(''));
        expect(read(cut(bytes, at))).toEqual(events.map((event) => event.join('\n')));
      },
    ),
    { numRuns: 1000 },
  );
});

test.each<[string, string, string[]]>([
  ['one blank after the colon is no data', 'data:a\n\ndata:  b\n\n', ['a', ' b']],
  ['a field without a colon', 'data\n\n', ['']],
  ['a name that only begins so', 'database: x\n\n', []],
  ['nothing without its empty line', 'data: a\n\ndata: b\n', ['a']],
  ['empty lines', '\n\n\ndata: a\n\n\n\n', ['a']],
])('%s', (_, text, events) => {
  expect(read([text])).toEqual(events);
});

test('invalid bytes become a replacement character', () => {
  expect(read([Buffer.concat([Buffer.from('data: a'), Buffer.from([0xff]), Buffer.from('b\n\n')])])).toEqual(['a\ufffdb']);
});

describe('limits', () => {
  const bounds = { lineBytes: 10, answerBytes: 30, errorBytes: 5 };

  test('count bytes, not characters', () => {
    expect(() => read(['data: é'.padEnd(9, 'x'), '\n'], bounds)).not.toThrow();
    expect(() => read(['data: é'.padEnd(10, 'x')], bounds)).toThrow('a line of the answer is larger than 10 bytes');
  });

  test('throw at the same byte, however the text is split', () => {
    const exceeds = (chunks: Buffer[]) => {
      const check = createBoundCheck(10, 30);
      try {
        for (const chunk of chunks) check(chunk);
        return null;
      } catch (error) {
        return (error as Error).message;
      }
    };
    const slowly = (bytes: Buffer) => {
      const lines = bytes.toString().split('\n');
      return { line: lines.some((line) => line.length > 10), all: bytes.length > 30 };
    };
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('x', 'x', 'x', 'x', '\n'), maxLength: 40 }),
        fc.array(fc.nat(50), { maxLength: 5 }),
        (text, at) => {
          const bytes = Buffer.from(text);
          const { line, all } = slowly(bytes);
          const found = exceeds(cut(bytes, at));
          expect(found !== null).toBe(line || all);
          if (found !== null && !all) expect(found).toContain('a line');
        },
      ),
      { numRuns: 1000 },
    );
  });
});
