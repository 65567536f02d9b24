import { expect, it } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import { createApi } from '../../src/api/create.ts';
import { native } from '../../src/dialects/native.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { systemIds } from '../../src/system/clock.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { settled } from '../support/adversary.ts';
import { createWorld } from '../support/world.ts';

/** A tree without a process, and an API that resumes it; `claimed`: how often it has claimed the tree. */
async function interrupted() {
  const memory = createMemoryStore();
  const first = await createWorld({ script: { runs: [{ steps: [{ hang: 'start' }] }] }, store: memory });
  const { id } = await first.runtime.start({ task: 'x' });
  await expect.poll(() => first.types()).toContain('model.asked');
  await memory.release(first.runtime.owner);
  const counted = { claims: 0 };
  const store = {
    ...memory,
    claim: (...given: Parameters<typeof memory.claim>) => {
      counted.claims++;
      return memory.claim(...given);
    },
  };
  const script = { runs: [{ steps: [{ text: 'done' }] }] };
  const world = await createWorld({ script, store, settings: { workspace: first.workspace } });
  const clock = createHandClock();
  const rest = { ids: systemIds, catalog: createCatalog(builtInAgents), dialect: native };
  const api = createApi({ store, clock, ...rest, runtime: async () => world.runtime });
  return { id, memory, world, clock, api, counted };
}

it('waits for a command that owns the tree for a moment', async () => {
  const { id, memory, world, clock, api, counted } = await interrupted();
  await using _ = world;
  const other = await memory.open();
  await memory.claim(other, id);
  const resuming = api.resume(id);
  await settled();
  expect(counted.claims).toBe(1);
  await memory.release(other);
  await clock.advance(100);
  const [root] = await resuming;
  expect(await root?.outcome).toMatchObject({ status: 'completed' });
});

it('names the process that keeps the tree', async () => {
  const { id, memory, world, clock, api } = await interrupted();
  const other = await memory.open();
  await memory.claim(other, id);
  const resuming = expect(api.resume(id)).rejects.toMatchObject({
    code: 'fenced',
    message: expect.stringContaining('is driven by process'),
  });
  for (let n = 0; n < 10; n++) await clock.advance(100);
  await resuming;
  await world.runtime.close();
});
