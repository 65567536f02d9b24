import { expect, it } from 'vitest';
import type { Owner, Store } from '../../src/ports/store.ts';
import { createMemory } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { storeSuite } from '../../src/testing/store-suite.ts';

storeSuite('memory store', async () => {
  const memory = createMemory();
  const stores: Store[] = [];
  const lose = async (owner: Owner) => void Object.assign(memory.owners.get(owner.id) ?? {}, { lost: true });
  return {
    open: async () => {
      const store = createMemoryStore({ memory });
      stores.push(store);
      return store;
    },
    kill: lose,
    silence: lose,
    dispose: async () => void (await Promise.all(stores.map((store) => store.close()))),
  };
});

it('wakes through the clock it is given', async () => {
  const clock = createHandClock();
  const store = createMemoryStore({ clock });
  let calls = 0;
  store.watch(() => calls++);
  const order = {
    id: 'o',
    runId: '0'.repeat(16),
    rootId: '0'.repeat(16),
    kind: 'cancel',
    text: '',
    at: '2026-01-01T00:00:00.000Z',
  } as const;
  await store.order(order);
  await store.order({ ...order, id: 'p' });
  await clock.advance(0);
  expect(calls).toBeGreaterThan(0);
});
