import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTraceContext } from '../../src/contract/trace-context.ts';

const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const parseState = (tracestate: string) => parseTraceContext({ traceparent, tracestate })?.tracestate;

describe('tracestate', () => {
  it.each([
    ['vendor=1', 'vendor=1'],
    [' a=1 ,\tb@c=x y\t, ,d=!', 'a=1,b@c=x y,d=!'],
    ['', undefined],
    [',,', undefined],
    ['a', undefined],
    ['A=1', undefined],
    ['a=', undefined],
    ['a=1,b', undefined],
    ['a=1=2', undefined],
    ['a=1\n', undefined],
    ['a=\u00e9', undefined],
  ])('%j is read as %j', (given, expected) => {
    expect(parseState(given)).toBe(expected);
  });

  it('has at most 32 members and 512 characters', () => {
    const list = (count: number) => Array.from({ length: count }, (_, i) => `k${i}=v`).join(',');
    expect(parseState(list(32))).toBe(list(32));
    expect(parseState(list(33))).toBeUndefined();
    expect(parseState(`${list(32)}${','.repeat(100)}`)).toBe(list(32));
    expect(parseState(`a=${'x'.repeat(256)},b=${'y'.repeat(251)}`)).toHaveLength(512);
    expect(parseState(`a=${'x'.repeat(256)},b=${'y'.repeat(252)}`)).toBeUndefined();
  });

  // A pattern for the whole list took exponential time for separators without members.
  it.each([' ,', ', ', '\t,', ',', 'a=1 ,', 'a= ,'])('is refused at once if it is hostile: many times %j', (piece) => {
    for (const text of [piece.repeat(100_000), piece.repeat(Math.floor(508 / piece.length))]) {
      expect(parseState(`${text} !`)).toBeUndefined();
      expect(parseState(`${text}\u0000`)).toBeUndefined();
    }
  });

  it('keeps exactly the valid members, whatever surrounds them', () => {
    const key = fc.stringMatching(/^[a-z0-9][a-z0-9_*/@-]{0,8}$/);
    const value = fc.stringMatching(/^[!-+\--<>-~]{1,8}$/);
    const gap = fc.stringMatching(/^[ \t]{0,3}$/);
    const member = fc.tuple(gap, fc.option(fc.tuple(key, value)), gap);
    fc.assert(
      fc.property(fc.array(member, { maxLength: 12 }), (members) => {
        const valid = members.flatMap(([, pair]) => (pair ? [pair.join('=')] : []));
        const text = members.map(([before, pair, after]) => `${before}${pair?.join('=') ?? ''}${after}`).join(',');
        expect(parseState(text)).toBe(valid.length === 0 ? undefined : valid.join(','));
      }),
    );
  });

  it('never throws or hangs for a text of its own alphabet, and what it keeps is read again unchanged', () => {
    const text = fc.array(fc.constantFrom(' ', '\t', ',', '=', 'a', '!', '\n', 'A'), { maxLength: 512 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (given) => {
        const kept = parseState(given);
        if (kept !== undefined) expect(parseState(kept)).toBe(kept);
      }),
    );
  });
});
