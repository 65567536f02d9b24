// The names of tokens identify who uses the server, also after the file was changed.
import { expect, it } from 'vitest';
import { parseTokens } from '../../src/server/token-file.ts';

const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];

it('a token without a name keeps its identity when another line is removed', () => {
  const [, before] = parseTokens(`${first}\n${second} read\n`, 'tokens');
  const [after] = parseTokens(`${second} read\n`, 'tokens');
  expect(after?.name).toBe(before?.name);
  expect(parseTokens(`${first}\n`, 'tokens')[0]?.name).not.toBe(after?.name);
});

it('a name that is too long is refused', () => {
  expect(() => parseTokens(`${first} start ${'x'.repeat(101)}\n`, 'tokens')).toThrow('a name has at most 100 characters');
});
