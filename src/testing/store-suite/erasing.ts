// `erase`, `weigh`, `reclaim` and `trail`: what erasing removes and what it keeps.
import { beforeEach, describe, expect, it } from 'vitest';
import type { StoredFact } from '../../contract/fact.ts';
import type { Store } from '../../ports/store.ts';
import {
  a,
  accepted,
  at,
  b,
  c,
  createFacts,
  createHash,
  createId,
  createOrder,
  createRootUnit,
  createRow,
  createUnit,
  type GetContext,
  readRunIds,
} from './fixtures.ts';

export function testErasing(getContext: GetContext): void {
  describe('erasing', () => {
    const createBlob = (n: number) => ({ hash: createHash(n), content: `text ${n}` });
    const ended = { status: 'completed', label: 'secret', idempotencyKey: 'k', activity: 'read' } as const;
    beforeEach(async () => {
      const { store, owner } = getContext();
      const child = createRow(b, { parentId: a, rootId: a, depth: 1, status: 'failed' });
      const tree = {
        facts: [...createFacts(a, 1), ...createFacts(b, 1), ...createFacts(a, 2)],
        rows: [createRow(a, { ...ended, lastSeq: 2 }), child],
      };
      await store.append(owner, [createUnit(a, { ...tree, blobs: [createBlob(1), createBlob(2)] })]);
      await store.append(owner, [{ ...createRootUnit(c, { status: 'completed' }), blobs: [createBlob(2), createBlob(3)] }]);
    });

    it('removes data, labels, keys, orders and blobs, and keeps what the hash chain needs', async () => {
      const { harness, store, owner } = getContext();
      await store.order(createOrder(1, a));
      const before = await store.trail(a);
      const weight = await store.weigh([a]);
      // A store may keep facts in less space than they have as text.
      expect(weight.facts).toBe(3);
      expect(weight.bytes).toBeGreaterThan('text 1'.length);
      expect(weight.bytes).toBeLessThanOrEqual((await sumFactBytes(store, [a, b])) + 'text 1'.length);
      expect(await store.erase(a, at)).toEqual({ ok: true, ...weight });
      expect(await store.facts({ rootId: a })).toEqual([]);
      expect(await store.facts({ types: ['message.received'] })).toEqual(await store.facts({ runId: c }));
      const { data: _, ...head } = before[0] as StoredFact;
      expect(await store.trail(a)).toEqual([{ ...head, erased: true }, expect.objectContaining({ seq: 2, erased: true })]);
      expect(await store.trail(b)).toHaveLength(1);
      expect(await store.run(a)).toEqual({
        ...createRow(a, { ...ended, lastSeq: 2 }),
        activity: null,
        label: null,
        idempotencyKey: null,
        erasedAt: at,
      });
      expect(await readRunIds(store, { rootId: a })).toEqual([b, a]);
      expect(await store.runByKey(null, 'k')).toBeNull();
      expect(await store.orders(owner)).toEqual([]);
      expect([await store.blob(createHash(1)), await store.blob(createHash(2)), await store.blob(createHash(3))]).toEqual([
        null,
        'text 2',
        'text 3',
      ]);
      await store.reclaim(1);
      expect(await (await harness.open()).trail(a)).toEqual(await store.trail(a));
    });

    it('removes a shared blob with the last tree that uses it, and a later tree can add it again', async () => {
      const { store, owner } = getContext();
      const [first, second, both] = [await store.weigh([a]), await store.weigh([c]), await store.weigh([a, c])];
      expect(both.bytes).toBe(first.bytes + second.bytes + 'text 2'.length);
      await store.erase(a, at);
      await store.erase(c, at);
      expect(await store.blob(createHash(2))).toBeNull();
      expect(await store.append(owner, [{ ...createRootUnit(createId(13)), blobs: [createBlob(2)] }])).toEqual([accepted]);
      expect(await store.blob(createHash(2))).toBe('text 2');
      expect(await store.append(owner, [createRootUnit(createId(14), { idempotencyKey: 'k' })])).toEqual([accepted]);
    });

    it('does nothing the second time, and keeps the first time of erasure', async () => {
      const { store } = getContext();
      await store.erase(a, at);
      expect(await store.erase(a, '2027-01-01T00:00:00.000Z')).toEqual({ ok: true, facts: 0, bytes: 0 });
      expect((await store.run(b))?.erasedAt).toBe(at);
      expect(await store.weigh([a])).toEqual({ facts: 0, bytes: 0 });
    });

    it('refuses a tree with a live run and an unknown tree', async () => {
      const { store, owner } = getContext();
      await store.append(owner, [
        createUnit(c, { facts: createFacts(createId(15), 1), rows: [createRow(createId(15), { parentId: c, rootId: c })] }),
      ]);
      expect(await store.erase(c, at)).toEqual({ ok: false, reason: 'live' });
      expect(await store.erase(createId(99), at)).toEqual({ ok: false, reason: 'unknown' });
      expect(await store.facts({ rootId: c })).toHaveLength(2);
      expect(await store.blob(createHash(3))).toBe('text 3');
      expect(await store.weigh([createId(99)])).toEqual({ facts: 0, bytes: 0 });
      expect(await store.trail(createId(99))).toEqual([]);
    });
  });
}

async function sumFactBytes(store: Store, runIds: string[]): Promise<number> {
  const found = (await Promise.all(runIds.map((runId) => store.facts({ runId })))).flat();
  return found.reduce((sum, { data }) => sum + JSON.stringify(data).length, 0);
}
