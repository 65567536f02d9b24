// `append`: all or nothing for each unit, and the reasons to refuse one.
import { describe, expect, it } from 'vitest';
import type { RunRow } from '../../contract/run.ts';
import type { WrittenFact } from '../../ports/store.ts';
import {
  a,
  accepted,
  b,
  c,
  conflict,
  createFacts,
  createHash,
  createOrder,
  createRootUnit,
  createRow,
  createUnit,
  fenced,
  type GetContext,
  readSeqs,
} from './fixtures.ts';

export function testAppending(getContext: GetContext): void {
  describe('append', () => {
    it('stores facts byte for byte, rows and blobs, and removes consumed orders', async () => {
      const { store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      await store.order(createOrder(1, a));
      const [given] = createFacts(a, 2) as [WrittenFact];
      const odd = {
        ...given,
        data: { from: 'x', text: 'é\u0000\u2028"\\' },
        text: '{"from":"x","text":"é\\u0000\u2028\\"\\\\"}',
      } as WrittenFact;
      const blob = { hash: createHash(7), text: 'a blob\u0000 with 🧵' };
      const next = createRow(a, { lastSeq: 2, label: 'second' });
      expect(await store.append(owner, [createUnit(a, { facts: [odd], rows: [next], blobs: [blob], consumed: ['order-1'] })])).toEqual([
        accepted,
      ]);
      const [, read] = await store.facts({ runId: a });
      const { text: _, ...fact } = odd;
      expect(read).toEqual({ ...fact, position: expect.any(String) });
      expect(await store.run(a)).toEqual(next);
      expect(await store.blob(blob.hash)).toBe(blob.text);
      expect(await store.orders(owner)).toEqual([]);
    });

    it('refuses a whole unit if a fact exists already or leaves a gap', async () => {
      const { store, owner } = getContext();
      await store.append(owner, [createUnit(a, { facts: createFacts(a, 1, 3), rows: [createRow(a)] })]);
      const blobs = [{ hash: createHash(1), text: 'x' }];
      expect(
        await store.append(owner, [createUnit(a, { facts: createFacts(a, 3), rows: [createRow(a, { label: 'no' })], blobs })]),
      ).toEqual([conflict]);
      expect(await store.append(owner, [createUnit(a, { facts: [...createFacts(a, 4), ...createFacts(b, 2)] })])).toEqual([conflict]);
      expect(await store.append(owner, [createUnit(a, { facts: [...createFacts(a, 4), ...createFacts(a, 6)] })])).toEqual([conflict]);
      expect(await store.append(owner, [createUnit(c, { facts: createFacts(c, 2) })])).toEqual([conflict]);
      expect(await readSeqs(store, a)).toEqual([1, 2, 3]);
      expect((await store.run(a))?.label).toBeNull();
      expect(await store.blob(createHash(1))).toBeNull();
      expect(await store.append(owner, [createUnit(a, { facts: createFacts(a, 4) })])).toEqual([accepted]);
    });

    it('keeps the other units of a batch, and later units see earlier ones', async () => {
      const { store, owner } = getContext();
      await store.append(owner, [createRootUnit(b)]);
      const units = [createRootUnit(a), createRootUnit(b), createUnit(a, { facts: createFacts(a, 2) }), createRootUnit(c)];
      expect(await store.append(owner, units)).toEqual([accepted, conflict, accepted, accepted]);
      expect(await readSeqs(store, a)).toEqual([1, 2]);
      expect(await readSeqs(store, c)).toEqual([1]);
    });

    it('refuses a second run with the same parent and idempotency key', async () => {
      const { store, owner } = getContext();
      const keyed = { idempotencyKey: 'k' };
      expect(await store.append(owner, [createRootUnit(a, keyed), createRootUnit(b, keyed)])).toEqual([accepted, conflict]);
      const children = [createRow(b, { parentId: a, rootId: a, ...keyed }), createRow(c, { parentId: a, rootId: a, ...keyed })];
      expect(await store.append(owner, [createUnit(a, { rows: children })])).toEqual([conflict]);
      expect(await store.append(owner, [createUnit(a, { rows: children.slice(1) })])).toEqual([accepted]);
      expect(await store.append(owner, [createUnit(a, { rows: [createRow(a, { ...keyed, turns: 5 })] })])).toEqual([accepted]);
      expect((await store.runByKey(null, 'k'))?.runId).toBe(a);
      expect((await store.runByKey(a, 'k'))?.runId).toBe(c);
      expect(await store.runByKey(null, 'other')).toBeNull();
      expect(await store.run(b)).toBeNull();
    });

    it('refuses facts and rows of a run in another tree', async () => {
      const { store, owner } = getContext();
      await store.append(owner, [createRootUnit(a), createRootUnit(b)]);
      expect(await store.append(owner, [createUnit(a, { facts: createFacts(b, 2) })])).toEqual([fenced]);
      expect(await store.append(owner, [createUnit(a, { rows: [createRow(b, { rootId: a })] })])).toEqual([fenced]);
    });

    it('is not affected when the caller changes its objects later', async () => {
      const { store, owner } = getContext();
      const given = createRootUnit(a);
      await store.append(owner, [given]);
      (given.rows[0] as RunRow).tokens.input = 99;
      ((await store.run(a)) as RunRow).tokens.output = 99;
      expect((await store.run(a))?.tokens).toEqual({ input: 1, output: 2, cached: 0, reasoning: 0 });
    });
  });
}
