import { expect, it } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import { createApi } from '../../src/api/create.ts';
import { native } from '../../src/dialects/native.ts';
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
