// `order`, `orders`, `dropOrders` and `watch`: orders reach the owner of their tree.
import { describe, expect, it } from 'vitest';
import type { Order } from '../../contract/order.ts';
import {
  a,
  at,
  b,
  c,
  conflict,
  createFacts,
  createHash,
  createOrder,
  createRootUnit,
  createRow,
  createUnit,
  type GetContext,
} from './fixtures.ts';

export function testOrders(getContext: GetContext): void {
  describe('orders', () => {
    it('returns only the orders of the owner’s trees, oldest first, until they are consumed or dropped', async () => {
      const { harness, store, owner } = getContext();
      const other = await harness.open();
      const otherOwner = await other.open();
      await store.append(owner, [createRootUnit(a)]);
      await other.append(otherOwner, [createRootUnit(b)]);
      for (const given of [createOrder(1, a), createOrder(2, b), createOrder(3, a), createOrder(4, c), createOrder(3, a)])
        await other.order(given);
      expect(await store.orders(owner)).toEqual([createOrder(1, a), createOrder(3, a)]);
      await store.append(owner, [createUnit(a, { facts: createFacts(a, 2), consumed: ['order-1', 'order-2'] })]);
      await store.dropOrders(owner, ['order-2', 'order-3', 'order-none']);
      expect(await store.orders(owner)).toEqual([]);
      expect(await other.orders(otherOwner)).toEqual([createOrder(2, b)]);
      await store.claim(owner, c);
      expect(await store.orders(owner)).toEqual([createOrder(4, c)]);
    });

    it('returns an order as it was given, with who gave it', async () => {
      const { store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      const call = { turn: 1, index: 0, hash: createHash(1), always: true };
      const given: Order = { ...createOrder(1, a), kind: 'approve', by: 'ada@example.org', rules: ['deny bash'], call };
      await store.order(given);
      expect(await store.orders(owner)).toEqual([given]);
    });

    it('never returns an order that somebody else wrote into the data: it is reported once and dropped', async () => {
      const { harness, store, owner } = getContext();
      if (harness.forge === null) return;
      await store.append(owner, [createRootUnit(a)]);
      await store.order(createOrder(1, a));
      await harness.forge({ ...createOrder(2, a), kind: 'approve' });
      expect(await store.findFaults()).toContainEqual({ where: 'orders', what: expect.stringContaining('order-2') });
      expect(await store.orders(owner)).toEqual([createOrder(1, a)]);
      expect(await store.orders(owner)).toEqual([createOrder(1, a)]);
      expect(harness.warnings()).toEqual([expect.stringContaining('order-2')]);
      expect((await store.findFaults()).filter(({ where }) => where === 'orders')).toEqual([]);
    });

    it('never returns an order again that its tree has consumed or dropped, whoever opens the data', async () => {
      const { harness, store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      for (const n of [1, 2]) await store.order(createOrder(n, a));
      await store.append(owner, [createUnit(a, { facts: createFacts(a, 2), consumed: ['order-1'] })]);
      await store.dropOrders(owner, ['order-2']);
      for (const n of [1, 2]) await store.order(createOrder(n, a));
      expect(await store.orders(owner)).toEqual([]);
      await harness.kill(owner);
      const successor = await harness.open();
      const next = await successor.open();
      await successor.claim(next, a);
      for (const n of [1, 2]) await successor.order(createOrder(n, a));
      expect(await successor.orders(next)).toEqual([]);
      expect(harness.warnings()).toEqual([]);
    });

    it('lets a successor claim a tree in which two runs have carried out the same order', async () => {
      const { harness, store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      await store.append(owner, [createUnit(a, { facts: createFacts(b, 1), rows: [createRow(b, { parentId: a, rootId: a, depth: 1 })] })]);
      await store.order(createOrder(1, a));
      await store.append(owner, [createUnit(a, { facts: createFacts(a, 2), consumed: ['order-1'] })]);
      await store.append(owner, [createUnit(a, { facts: createFacts(b, 2), consumed: ['order-1'] })]);
      await harness.kill(owner);
      const successor = await harness.open();
      expect(await successor.claim(await successor.open(), a)).toMatchObject({ ok: true });
    });

    it('reports and drops an order that somebody inserts once more after it was consumed', async () => {
      const { harness, store, owner } = getContext();
      if (harness.replay === null) return;
      await store.append(owner, [createRootUnit(a)]);
      for (const n of [1, 2]) await store.order(createOrder(n, a));
      await store.append(owner, [createUnit(a, { facts: createFacts(a, 2), consumed: ['order-1'] })]);
      await store.dropOrders(owner, ['order-2']);
      for (const n of [1, 2]) await harness.replay(createOrder(n, a));
      expect((await store.findFaults()).filter(({ where }) => where === 'orders')).toHaveLength(2);
      expect([await store.orders(owner), await store.orders(owner)]).toEqual([[], []]);
      expect(harness.warnings()).toEqual([1, 2].map((n) => expect.stringMatching(`order-${n} .* was inserted again by another program`)));
      expect((await store.findFaults()).filter(({ where }) => where === 'orders')).toEqual([]);
    });

    it('keeps no order of a tree that has ended, and stores none for it', async () => {
      const { harness, store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      await store.append(owner, [createRootUnit(b)]);
      for (const given of [createOrder(1, a), createOrder(2, b)]) await store.order(given);
      const rows = [createRow(a, { status: 'cancelled', endedAt: at })];
      expect(await store.append(owner, [createUnit(a, { facts: createFacts(a, 9), rows })])).toEqual([conflict]);
      expect(await store.orders(owner)).toEqual([createOrder(1, a), createOrder(2, b)]);
      await store.append(owner, [createUnit(a, { facts: createFacts(a, 2), rows })]);
      expect(await store.orders(owner)).toEqual([createOrder(2, b)]);
      await (await harness.open()).order(createOrder(3, a));
      expect(await store.orders(owner)).toEqual([createOrder(2, b)]);
      expect((await store.findFaults()).filter(({ where }) => where === 'orders')).toEqual([]);
    });

    it('keeps an order if the unit that consumes it is refused', async () => {
      const { store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      await store.order(createOrder(1, a));
      expect(await store.append(owner, [createUnit(a, { facts: createFacts(a, 9), consumed: ['order-1'] })])).toEqual([conflict]);
      expect(await store.orders(owner)).toEqual([createOrder(1, a)]);
    });

    it('wakes the owner, whether the order comes from its own process or another one', async () => {
      const { harness, store, owner } = getContext();
      await store.append(owner, [createRootUnit(a)]);
      const other = await harness.open();
      for (const [n, from] of [store, other].entries()) {
        const woken = Promise.withResolvers<void>();
        const end = store.watch(woken.resolve);
        await from.order(createOrder(n, a));
        await woken.promise;
        end();
        expect(await store.orders(owner)).toHaveLength(n + 1);
      }
    });

    it('notifies watchers of facts from another process until they unsubscribe', async () => {
      const { harness, store, owner } = getContext();
      const other = await harness.open();
      const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let calls = 0;
      const end = other.watch(() => calls++);
      const endFirst = other.watch(first.resolve);
      await store.append(owner, [createRootUnit(a)]);
      await first.promise;
      end();
      endFirst();
      const before = calls;
      other.watch(second.resolve);
      await store.append(owner, [createRootUnit(b)]);
      await second.promise;
      expect(calls).toBe(before);
    });
  });
}
