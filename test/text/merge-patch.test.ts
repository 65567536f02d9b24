import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/contract/json.ts';
import { canonical } from '../../src/text/canonical.ts';
import { applyMergePatch, createMergePatch } from '../../src/text/merge-patch.ts';

/** Few keys and values, so that two objects often share some. */
const { object } = fc.letrec<{ value: unknown; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, 0, 1, -0, '', 'x', 'é\ud800'),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c', '1', 'constructor', '__proto__'), tie('value'), {
    maxKeys: 4,
  }) as fc.Arbitrary<JsonObject>,
}));

const sort = (value: JsonObject) => JSON.parse(canonical(value)) as JsonObject;

describe('a merge patch', () => {
  it('gives the bytes of the other object back, whatever both are', () => {
    fc.assert(
      fc.property(object, object, (from, to) => {
        const patch = createMergePatch(sort(from), to);
        if (patch === null) return;
        const merged = applyMergePatch(sort(from), JSON.parse(canonical(patch)) as JsonObject);
        expect(canonical(merged)).toBe(canonical(to));
        // Whoever writes it without sorting gets the same text.
        expect(JSON.stringify(merged)).toBe(JSON.stringify(sort(to)));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    [{ a: 1, b: { c: 2, d: 3 } }, { a: 1, b: { c: 2, d: 4 } }, { b: { d: 4 } }],
    [{ a: 1, b: 2 }, { b: 2 }, { a: null }],
    [{ a: null }, { a: null, b: [null] }, { b: [null] }],
    [{}, {}, {}],
    [{ a: {} }, { a: { b: { c: null } } }, null],
    [{ a: 1 }, { a: null }, null],
    [{}, { a: Number.POSITIVE_INFINITY }, null],
  ] as [JsonObject, JsonObject, JsonObject | null][])('from %j to %j is %j', (from, to, patch) => {
    expect(createMergePatch(from, to)).toEqual(patch);
  });

  it('does not change a prototype', () => {
    const merged = applyMergePatch({}, JSON.parse('{"__proto__":{"isAdmin":true}}'));
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect((merged as { isAdmin?: unknown }).isAdmin).toBeUndefined();
  });
});
