import { expect, it } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import { createApi } from '../../src/api/create.ts';
import { native } from '../../src/dialects/native.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { systemClock, systemIds } from '../../src/system/clock.ts';
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

/** A tree of a root and two children without a process, in a store with another process that drives `script/main`. */
async function interruptedTree(scripts: Record<string, object>) {
  const memory = createMemoryStore();
  const children = ['one', 'two'].map((label) => ({ task: label, label }));
  const steps = [{ calls: [{ tool: 'delegate', args: { tasks: children } }] }, { text: 'joined' }];
  const hangs = { times: 'any', steps: [{ hang: 'start' }] };
  const first = await createWorld({
    scripts: { lost: { runs: [{ when: { task: 'root' }, steps }, hangs] } },
    settings: { model: 'script/lost' },
    store: memory,
  });
  const { id } = await first.runtime.start({ task: 'root' });
  await expect.poll(() => first.types().filter((type) => type === 'model.asked')).toHaveLength(3);
  await memory.release(first.runtime.owner);
  const world = await createWorld({ scripts, store: memory, settings: { workspace: first.workspace } });
  const rest = { clock: systemClock, ids: systemIds, catalog: createCatalog(builtInAgents), dialect: native };
  const api = createApi({ store: memory, ...rest, runtime: async () => world.runtime });
  const statuses = async () => (await api.ps({ all: true })).map(({ label, status, driven }) => [label, status, driven]);
  return { id, world, api, statuses };
}

const undriven = [
  ['two', 'interrupted', false],
  ['one', 'interrupted', false],
  [null, 'interrupted', false],
];

it('gives up a tree that it cannot continue, also if it is asked twice at once, and continues it later', async () => {
  const scripts: Record<string, object> = {};
  const { id, world, api, statuses } = await interruptedTree(scripts);
  await using _ = world;
  const resumes = await Promise.allSettled([api.resume(id), api.resume(id)]);
  expect(resumes).toMatchObject(
    Array(2).fill({ status: 'rejected', reason: { message: expect.stringContaining('cannot be read: no script') } }),
  );
  expect(await statuses()).toEqual(undriven);
  scripts.lost = {
    runs: [
      { when: { task: 'root' }, steps: [{ text: 'none' }, { text: 'joined' }] },
      { times: 2, steps: [{ text: 'part' }] },
    ],
  };
  const handles = (await Promise.all([api.resume(id), api.resume(id)])).flat();
  expect(await Promise.all(handles.map(({ outcome }) => outcome))).toMatchObject(handles.map(() => ({ status: 'completed' })));
});

it('cancels a tree that it cannot continue', async () => {
  const { id, world, api, statuses } = await interruptedTree({});
  await using _ = world;
  await expect(api.resume(id)).rejects.toThrow('cannot be read: no script');
  expect(await api.cancel([id], 'enough')).toEqual([{ runId: id, result: 'ended' }]);
  expect((await statuses()).map(([, status]) => status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
});

it('does not take over the rest of a tree when it cancels a part of it', async () => {
  const { id, world, api, statuses } = await interruptedTree({});
  await using _ = world;
  await expect(api.resume(id)).rejects.toThrow('cannot be read: no script');
  const [two] = await api.ps({ all: true });
  expect(await api.cancel([two?.runId as string], 'enough')).toEqual([{ runId: two?.runId, result: 'ended' }]);
  expect(await statuses()).toEqual([['two', 'cancelled', false], ...undriven.slice(1)]);
  expect(await api.cancel([id], 'all of it')).toEqual([{ runId: id, result: 'ended' }]);
});
