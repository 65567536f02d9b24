import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isJsonDeeperThan } from '../../src/text/json-depth.ts';

function depthOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
}

it('agrees with the depth of the parsed value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const depth = depthOf(JSON.parse(text));
      expect([isJsonDeeperThan(text, depth), depth > 0 && isJsonDeeperThan(text, depth - 1)]).toEqual([false, depth > 0]);
    }),
  );
});

it('counts no brackets in strings, and stops at the bound', () => {
  expect(isJsonDeeperThan(JSON.stringify({ 'a"[{': '\\"[[[[', b: ['\\'] }), 2)).toBe(false);
  expect(isJsonDeeperThan('['.repeat(1_000_000), 100)).toBe(true);
  expect(isJsonDeeperThan(`${'[]'.repeat(100_000)}`, 1)).toBe(false);
});
