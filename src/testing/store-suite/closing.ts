// `close`: every later call is rejected.
import { expect, it } from 'vitest';
import { a, at, createHash, createOrder, createRootUnit, type GetContext } from './fixtures.ts';

export function testClosing(getContext: GetContext): void {
  it('rejects every call after it was closed, and may be closed twice', async () => {
    const { store, owner } = getContext();
    await store.close();
    await store.close();
    const calls: (() => Promise<unknown>)[] = [
      () => store.append(owner, [createRootUnit(a)]),
      () => store.facts({}),
      () => store.trail(a),
      () => store.erase(a, at),
      () => store.weigh([a]),
      () => store.reclaim(0),
      () => store.size(),
      () => store.findFaults(),
      () => store.run(a),
      () => store.runs({}),
      () => store.runByKey(null, 'k'),
      () => store.blob(createHash(1)),
      () => store.order(createOrder(1, a)),
      () => store.orders(owner),
      () => store.dropOrders(owner, []),
      () => store.open(),
      () => store.release(owner),
      () => store.claim(owner, a),
      () => store.releaseTree(owner, a),
      () => store.holders([a]),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'store_io', message: expect.stringContaining('closed') });
    expect(() => store.watch(() => {})).toThrow('closed');
  });
}
