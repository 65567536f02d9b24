// The dialect is a property of the run: one process serves and resumes trees of any dialect.
import { expect, it } from 'vitest';
import type { Fact } from '../../src/contract/fact.ts';
import { dialectNames, makeDialect } from '../../src/dialects/index.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

const options: Partial<WorldOptions> = {
  options: { dialectNamed: async (name) => (dialectNames.includes(name) ? makeDialect(name, {}) : null) },
};

function toolsOf(world: World, runId: string): string[] {
  const created = world.facts.find((fact) => fact.runId === runId && fact.type === 'run.created') as Extract<Fact, { type: 'run.created' }>;
  return created.data.grant.tools;
}

it('trees of all dialects run side by side in one process, each with its own tools', async () => {
  await using world = await createWorld({ script: { runs: [{ times: 'any', steps: [{ text: 'done' }] }] }, ...options });
  const runs = await Promise.all(dialectNames.map((dialect) => world.runtime.start({ task: dialect }, { dialect })));
  for (const run of runs) expect(await run.outcome).toMatchObject({ status: 'completed' });
  const offered = runs.map((run) => toolsOf(world, run.id));
  for (const [index, name] of dialectNames.entries()) {
    const own = makeDialect(name, {}).tools.map((tool) => tool.name);
    expect(offered[index]).toEqual(expect.arrayContaining(own));
  }
});

it.each(dialectNames)('an interrupted tree of %s is resumed by a process whose default is another dialect', async (dialect) => {
  const store = createMemoryStore();
  const kept = { ...store, close: async () => {} };
  const excuses = { ended: 'interrupted', told: 'interrupted' };
  const first = await createWorld({ script: { runs: [{ times: 'any', steps: [{ hang: 'start' }] }] }, store: kept, excuses, ...options });
  const run = await first.runtime.start({ task: 'x' }, { dialect });
  await expect.poll(() => first.types()).toContain('model.asked');
  await store.release(first.runtime.owner);
  await using second = await createWorld({
    script: { runs: [{ steps: [{ text: 'resumed' }] }] },
    store: kept,
    settings: { workspace: first.workspace },
    ...options,
  });
  const resumed = await second.runtime.resume(run.id, 'a test');
  expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'completed', summary: 'resumed' });
  await first.runtime.close();
  await expect(run.outcome).rejects.toMatchObject({ code: 'fenced' });
});

it('a tree of a dialect that this process does not have is refused by name', async () => {
  await using world = await createWorld(options);
  await expect(world.runtime.start({ task: 'x' }, { dialect: 'esperanto' })).rejects.toMatchObject({
    code: 'unknown_dialect',
    message: 'the dialect esperanto is not available here',
  });
});
