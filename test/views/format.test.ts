// Numbers as people read them.
import { expect, it } from 'vitest';
import { formatShare } from '../../src/views/format.ts';

it.each([
  [0, 10, '0 %'],
  [0.05, 10, '<1 %'],
  [3.7, 10, '37 %'],
  [9.99, 10, '99 %'],
  [10, 10, '100 %'],
  [1, 0, '0 %'],
])('%d of %d is %s', (part, whole, text) => {
  expect(formatShare(part, whole)).toBe(text);
});
