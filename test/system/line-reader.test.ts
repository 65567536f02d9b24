import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLineReader, type LineReader } from '../../src/system/line-reader.ts';

interface Recording {
  reader: LineReader;
  lines: string[];
  overflows(): number;
}

function record(maxLineBytes: number, onLine: (line: string, reader: LineReader) => void = () => {}): Recording {
  const lines: string[] = [];
  let overflows = 0;
  const reader = createLineReader({
    maxLineBytes,
    onLine(line) {
      lines.push(line.toString('utf8'));
      onLine(line.toString('utf8'), reader);
    },
    onOverflow: () => void overflows++,
  });
  return { reader, lines, overflows: () => overflows };
}

describe('lines', () => {
  it('are the same however the bytes are cut into chunks', () => {
    const text = fc.array(fc.constantFrom('a', 'é', '🧵', '\n', '\r\n', ''), { maxLength: 40 });
    fc.assert(
      fc.property(text, fc.array(fc.nat(8), { maxLength: 60 }), (characters, sizes) => {
        const bytes = Buffer.from(characters.join(''));
        const { reader, lines, overflows } = record(1_000);
        let at = 0;
        for (const size of sizes) {
          reader.push(bytes.subarray(at, at + size));
          at += size;
        }
        reader.push(bytes.subarray(at));
        reader.end();
        const expected = bytes.toString('utf8').split('\n');
        if (expected.at(-1) === '') expected.pop();
        expect([lines, overflows()]).toEqual([expected, 0]);
      }),
    );
  });

  it('include the last one without a line feed only at the end of the stream', () => {
    const { reader, lines } = record(10);
    reader.push(Buffer.from('one\ntwo'));
    expect(lines).toEqual(['one']);
    reader.end();
    expect(lines).toEqual(['one', 'two']);
  });

  it('do not change when the caller reuses the chunk', () => {
    const { reader, lines } = record(10);
    const chunk = Buffer.from('abc');
    reader.push(chunk);
    chunk.fill('x');
    reader.push(Buffer.from('\n'));
    expect(lines).toEqual(['abc']);
  });
});

describe('a line that is too long', () => {
  it.each([
    ['in one chunk with its end', ['ok\n123456\nlater\n']],
    ['in one chunk without its end', ['ok\n123456']],
    ['over several chunks', ['ok\n12', '34', '56', '\nlater\n']],
  ])('overflows once and ends reading: %s', (_, chunks) => {
    const { reader, lines, overflows } = record(5);
    for (const chunk of chunks) reader.push(Buffer.from(chunk));
    reader.end();
    expect([lines, overflows()]).toEqual([['ok'], 1]);
  });

  it('is one byte longer than the limit', () => {
    const { reader, lines, overflows } = record(5);
    reader.push(Buffer.from('12345\n'));
    reader.push(Buffer.from('123456\n'));
    expect([lines, overflows()]).toEqual([['12345'], 1]);
  });
});

describe('a line that is too long, for a reader that skips it', () => {
  it.each([
    ['in one chunk', ['ok\n123456\nlater\n123456\nlast']],
    ['byte by byte', [...'ok\n123456789\nlater\n1234567\nlast']],
  ])('overflows once for each line, and the others are delivered: %s', (_, chunks) => {
    const lines: string[] = [];
    let overflows = 0;
    const reader = createLineReader({
      maxLineBytes: 5,
      onLine: (line) => lines.push(line.toString('utf8')),
      onOverflow: () => overflows++,
      skipsLongLines: true,
    });
    for (const chunk of chunks) reader.push(Buffer.from(chunk));
    reader.end();
    expect([lines, overflows]).toEqual([['ok', 'later', 'last'], 2]);
  });
});

describe('a stopped reader', () => {
  it('delivers nothing more, even from the same chunk', () => {
    const { reader, lines, overflows } = record(5, (line, self) => {
      if (line === 'b') self.stop();
    });
    reader.push(Buffer.from('a\nb\nc\nd'));
    reader.push(Buffer.from('\n123456789\n'));
    reader.end();
    expect([lines, overflows()]).toEqual([['a', 'b'], 0]);
  });

  it('is what an error in onLine leaves behind, and the caller gets the error', () => {
    const { reader, lines } = record(5, (line) => {
      if (line === 'b') throw new Error('bad line');
    });
    expect(() => reader.push(Buffer.from('a\nb\nc\n'))).toThrow('bad line');
    reader.push(Buffer.from('d\n'));
    expect(lines).toEqual(['a', 'b']);
  });
});
