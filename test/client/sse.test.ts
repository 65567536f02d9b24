import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSseParser, type SseMessage } from '../../src/client/sse.ts';

function parse(pieces: string[], options?: { maxChars: number }): SseMessage[] {
  const parser = createSseParser(options);
  return pieces.flatMap((piece) => parser.push(piece));
}

/** Cuts a text at the given places. */
function cut(text: string, places: number[]): string[] {
  const ends = [...new Set(places.map((place) => place % (text.length + 1)))].sort((a, b) => a - b);
  return [...ends, text.length].map((end, i) => text.slice(i === 0 ? 0 : ends[i - 1], end));
}

describe('the parser of server-sent events', () => {
  it('reads id, event and data', () => {
    expect(parse(['id: 7\nevent: fact\ndata: {"a":1}\n\n'])).toEqual([{ id: '7', event: 'fact', data: '{"a":1}' }]);
  });

  it.each(['\n', '\r\n', '\r'])('accepts %j as the end of a line', (end) => {
    expect(parse([['id: 1', 'data: a', 'data: b', '', ':heartbeat', '', 'data: c', '', ''].join(end)])).toEqual([
      { id: '1', event: 'message', data: 'a\nb' },
      { id: null, event: 'message', data: 'c' },
    ]);
  });

  it('does not read CRLF as two line ends if a piece ends between them', () => {
    expect(parse(['data: a\r', '\ndata: b\r', '\n', '\r', '\n'])).toEqual([{ id: null, event: 'message', data: 'a\nb' }]);
  });

  it('removes one space after the colon and keeps the others', () => {
    expect(parse(['data:  two\ndata:none\ndata\n\n'])).toEqual([{ id: null, event: 'message', data: ' two\nnone\n' }]);
  });

  it('ignores comments, unknown fields, a byte order mark and ids with a null character', () => {
    expect(parse(['\ufeffdata: a\nid: x\0y\nfoo: bar\n: comment\n\n'])).toEqual([{ id: null, event: 'message', data: 'a' }]);
  });

  it('reports an event that only has an id, and nothing for empty ones', () => {
    expect(parse(['id: 9\n\n\n\nevent: x\n\n'])).toEqual([{ id: '9', event: 'message', data: '' }]);
  });

  it('keeps the reconnection time that the server asks for', () => {
    const parser = createSseParser();
    expect(parser.retryMs()).toBeNull();
    parser.push('retry: 1500\n\nretry: soon\n\n');
    expect(parser.retryMs()).toBe(1500);
  });

  it('drops a message that is not complete', () => {
    expect(parse(['id: 1\ndata: a\n\nid: 2\ndata: b\n'])).toEqual([{ id: '1', event: 'message', data: 'a' }]);
  });

  it('reads an event of 20 MB that comes in small pieces', () => {
    const piece = 'x'.repeat(1024);
    const parser = createSseParser();
    parser.push('data: ');
    for (let i = 0; i < 20 * 1024; i++) parser.push(piece);
    const [message] = parser.push('\n\n');
    expect(message?.data.length).toBe(20 * 1024 * 1024);
  });

  it('refuses an event without an end, but not many comments', () => {
    expect(() => parse(['data: ', ...Array.from({ length: 11 }, () => 'x'.repeat(10))], { maxChars: 100 })).toThrow(/larger than 100/);
    expect(parse([...Array.from({ length: 50 }, () => ': heartbeat\n'), 'data: a\n\n'], { maxChars: 100 })).toHaveLength(1);
  });

  it('gives the same messages however the text is cut', () => {
    const word = fc.stringMatching(/^[a-z:{} \u00e9\u{1f600}]{0,8}$/u);
    const line = fc.oneof(
      word.map((text) => `data: ${text}`),
      word.map((text) => `id:${text}`),
      word.map((text) => `event: ${text}`),
      word.map((text) => `: ${text}`),
      fc.constant(''),
    );
    const text = fc
      .array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')))
      .map((lines) => lines.map(([content, end]) => content + end).join(''));
    fc.assert(
      fc.property(text, fc.array(fc.nat(10_000)), (whole, places) => {
        expect(parse(cut(whole, places))).toEqual(parse([whole]));
      }),
      { numRuns: 500 },
    );
  });
});
