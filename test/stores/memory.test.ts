import { expect, it } from 'vitest';
import type { Owner, Store } from '../../src/ports/store.ts';
import { createMemoryData } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { runStoreSuite } from '../../src/testing/store-suite.ts';

runStoreSuite(
  'memory store',
  async () => {
    const memory = createMemoryData();
    const stores: Store[] = [];
    const markDead = async (owner: Owner) => void Object.assign(memory.owners.get(owner.id) ?? {}, { isDead: true });
    return {
      open: async () => {
        const store = createMemoryStore({ memory });
        stores.push(store);
        return store;
      },
      // Only the store itself can change its data, so nobody can forge an order.
      forge: null,
      replay: null,
      delayBlobs: null,
      warnings: () => [],
      kill: markDead,
      silence: markDead,
      dispose: async () => void (await Promise.all(stores.map((store) => store.close()))),
    };
  },
  { hasQueue: true },
);

it('calls watchers through the given clock', async () => {
  const clock = createHandClock();
  const store = createMemoryStore({ clock });
  let calls = 0;
  store.watch(() => calls++);
  const order = {
    id: 'o',
    runId: '0'.repeat(16),
    rootId: '0'.repeat(16),
    kind: 'cancel',
    by: 'the user',
    text: '',
    at: '2026-01-01T00:00:00.000Z',
  } as const;
  await store.order(order);
  await store.order({ ...order, id: 'p' });
  await clock.advance(0);
  expect(calls).toBeGreaterThan(0);
});
