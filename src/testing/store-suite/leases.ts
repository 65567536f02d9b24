// `claim`, `release`, `releaseTree` and `holders`: at most one living owner per tree, and fencing of the previous one.
import { describe, expect, it } from 'vitest';
import { a, accepted, b, c, conflict, createFacts, createOrder, createRootUnit, createUnit, fenced, type GetContext } from './fixtures.ts';

export function testLeases(getContext: GetContext): void {
  describe('leases', () => {
    it('refuses claims and appends while the owner of the tree is alive', async () => {
      const { harness, store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      const other = await harness.open();
      const otherOwner = await other.open();
      expect(await other.claim(otherOwner, a)).toEqual({ ok: false, owner: owner.id, pid: process.pid });
      expect(await other.append(otherOwner, [createUnit(a, { facts: createFacts(a, 2) }), createRootUnit(b)])).toEqual([fenced, accepted]);
      expect(await store.append(owner, [createUnit(a, { facts: createFacts(a, 2) })])).toEqual([accepted]);
    });

    it('grants a new tree, an own tree and a released tree', async () => {
      const { harness, store, owner } = getContext();
      const other = await harness.open();
      const otherOwner = await other.open();
      expect(await store.claim(owner, a)).toEqual({ ok: true, previous: null });
      expect(await store.claim(owner, a)).toEqual({ ok: true, previous: null });
      expect(await other.append(otherOwner, [createRootUnit(a)])).toEqual([fenced]);
      await store.release(owner);
      expect(await store.append(owner, [createRootUnit(b)])).toEqual([fenced]);
      expect(await other.append(otherOwner, [createRootUnit(a)])).toEqual([fenced]);
      expect(await other.claim(otherOwner, a)).toEqual({ ok: true, previous: null });
      expect(await other.append(otherOwner, [createRootUnit(a)])).toEqual([accepted]);
    });

    it.each(['kill', 'silence'] as const)('allows a takeover after %s, tree by tree', async (end) => {
      const { harness, store, owner } = getContext();
      await store.append(owner, [createRootUnit(a), createRootUnit(b)]);
      await store.order(createOrder(1, a));
      await store.order(createOrder(2, b));
      await harness[end](owner);
      const other = await harness.open();
      const successor = await other.open();
      expect(await other.holders([a])).toEqual(new Map([[a, { owner: owner.id, pid: expect.any(Number), alive: false }]]));
      expect(await other.claim(successor, a)).toEqual({ ok: true, previous: owner.id });
      expect(await store.append(owner, [createUnit(a, { facts: createFacts(a, 2) }), createUnit(b, { facts: createFacts(b, 2) })])).toEqual(
        [fenced, accepted],
      );
      expect(await store.append(owner, [createRootUnit(c)])).toEqual([accepted]);
      expect(await store.orders(owner)).toEqual([createOrder(2, b)]);
      await store.dropOrders(owner, ['order-1']);
      expect(await other.orders(successor)).toEqual([createOrder(1, a)]);
      expect(await other.append(successor, [createUnit(a, { facts: createFacts(a, 2) })])).toEqual([accepted]);
      expect(await other.claim(successor, b)).toEqual({ ok: true, previous: owner.id });
      expect(await store.append(owner, [createUnit(b, { facts: createFacts(b, 3) })])).toEqual([fenced]);
      expect((await other.holders([a, b])).get(b)).toMatchObject({ owner: successor.id, alive: true });
    });

    it('refuses appends of an earlier ownership after an owner has claimed its lost tree again', async () => {
      const { harness, store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      await harness.silence(owner);
      const other = await harness.open();
      const successor = await other.open();
      await other.claim(successor, a);
      await other.append(successor, [createUnit(a, { facts: createFacts(a, 2) })]);
      await other.release(successor);
      expect(await store.claim(owner, a)).toEqual({ ok: true, previous: null });
      expect(await store.append(owner, [createUnit(a, { facts: createFacts(a, 2) })])).toEqual([conflict]);
      expect(await store.append(owner, [createUnit(a, { facts: createFacts(a, 3) })])).toEqual([accepted]);
    });

    it('refuses everything to an owner that has released its lease', async () => {
      const { store, owner } = getContext();
      await store.release(owner);
      expect(await store.append(owner, [createRootUnit(c)])).toEqual([fenced]);
      await expect(store.orders(owner)).rejects.toMatchObject({ code: 'fenced' });
      await expect(store.claim(owner, c)).rejects.toMatchObject({ code: 'fenced' });
      const again = await store.open();
      expect(await store.append(again, [createRootUnit(c)])).toEqual([accepted]);
    });

    it('gives up one tree and keeps the others', async () => {
      const { harness, store, owner } = getContext();
      await store.append(owner, [createRootUnit(a), createRootUnit(b)]);
      const other = await harness.open();
      const otherOwner = await other.open();
      await other.releaseTree(otherOwner, a);
      expect(await other.claim(otherOwner, a)).toMatchObject({ ok: false });
      await store.releaseTree(owner, a);
      await store.releaseTree(owner, c);
      expect(await other.holders([a])).toEqual(new Map([[a, null]]));
      expect(await store.append(owner, [createUnit(a, { facts: createFacts(a, 2) }), createUnit(b, { facts: createFacts(b, 2) })])).toEqual(
        [fenced, accepted],
      );
      expect(await other.claim(otherOwner, a)).toEqual({ ok: true, previous: null });
      expect(await other.append(otherOwner, [createUnit(a, { facts: createFacts(a, 2) })])).toEqual([accepted]);
      expect(await other.claim(otherOwner, b)).toMatchObject({ ok: false });
    });

    it('returns the holders of trees', async () => {
      const { harness, store, owner } = getContext();
      const other = await harness.open();
      await store.append(owner, [createRootUnit(a)]);
      const held = { owner: owner.id, pid: process.pid, alive: true };
      expect(await other.holders([a, b])).toEqual(
        new Map<string, unknown>([
          [a, held],
          [b, null],
        ]),
      );
      await store.release(owner);
      expect(await other.holders([a])).toEqual(new Map([[a, null]]));
    });

    it('releases the leases of a store when it is closed', async () => {
      const { harness, store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      await store.close();
      const other = await harness.open();
      expect(await other.claim(await other.open(), a)).toEqual({ ok: true, previous: null });
    });
  });
}
