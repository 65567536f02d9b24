import { expect, it } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import { createApi } from '../../src/api/create.ts';
import type { Order } from '../../src/contract/order.ts';
import { native } from '../../src/dialects/native.ts';
import type { Store } from '../../src/ports/store.ts';
import { systemClock, systemIds } from '../../src/system/clock.ts';
import { createWorld } from '../support/world.ts';

it("accepts only its own fact as an acknowledgement, not another sender's message at the same time", async () => {
  await using world = await createWorld({ script: { runs: [{ when: { agent: 'general' }, steps: [{ delayMs: 60_000, text: 'late' }] }] } });
  const run = await world.runtime.start({ task: 'work' });
  // Another message is recorded, and the run ends before this one is.
  const store = {
    ...world.store,
    order: async () => {
      await run.send('theirs', 'somebody');
      await run.cancel('enough', 'somebody');
      await run.outcome;
    },
  };
  const api = createApi({
    store,
    clock: systemClock,
    ids: systemIds,
    catalog: createCatalog(builtInAgents),
    dialect: native,
    runtime: () => Promise.reject(new Error('it drives nothing')),
  });
  await expect(api.message(run.id, 'mine')).rejects.toMatchObject({ code: 'parent_ended' });
});

it('says that a message is kept if the process of the run dies before it has read it, and the message is delivered once', async () => {
  await using world = await createWorld({ script: { runs: [{ when: { agent: 'general' }, steps: [{ delayMs: 60_000, text: 'late' }] }] } });
  const run = await world.runtime.start({ task: 'work' });
  const orders: Order[] = [];
  const store: Store = {
    ...world.store,
    order: async (order) => void orders.push(order),
    async holders(rootIds) {
      const holders = await world.store.holders(rootIds);
      return new Map([...holders].map(([id, holder]) => [id, holder && { ...holder, alive: orders.length === 0 }]));
    },
  };
  const api = createApi({
    store,
    clock: systemClock,
    ids: systemIds,
    catalog: createCatalog(builtInAgents),
    dialect: native,
    runtime: () => Promise.reject(new Error('it drives nothing')),
  });
  expect(await api.message(run.id, 'mine')).toEqual({ kind: 'kept' });
  expect(orders).toMatchObject([{ kind: 'message', text: 'mine' }]);
  for (const order of orders) await world.store.order(order);
  await expect.poll(() => world.facts.filter((fact) => fact.type === 'message.received').length).toBe(1);
  await run.cancel('enough', 'somebody');
  await run.outcome;
});
