// A rule that names no tool would protect nothing. It is refused wherever it comes from, before anything is recorded.
import { expect, it } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import { createApi } from '../../src/api/create.ts';
import { checkRules } from '../../src/config/rulesets.ts';
import type { Order } from '../../src/contract/order.ts';
import { native } from '../../src/dialects/native.ts';
import type { Store } from '../../src/ports/store.ts';
import { createMemoryData } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { systemClock, systemIds } from '../../src/system/clock.ts';
import { createWorld, type WorldOptions } from '../support/world.ts';

const quick = { runs: [{ times: 'any' as const, steps: [{ text: 'done' }] }] };
const late = { runs: [{ times: 'any' as const, steps: [{ delayMs: 60_000, text: 'late' }] }] };
const refused = (rule: string, place: string, hint: string) => ({
  code: 'invalid_rule',
  message: expect.stringMatching(new RegExp(`^\`${rule}\` \\(${place}\\): unknown tool .*did you mean \`${hint}\``)),
});

it('of a brief is refused for roots, for children and for a queue', async () => {
  await using world = await createWorld({ script: quick });
  const brief = { task: 'x', rules: ['deny write', 'deny bahs'] };
  const error = refused('deny bahs', 'the brief, rules.1', 'bash');
  await expect(world.runtime.start(brief)).rejects.toMatchObject(error);
  await expect(world.runtime.enqueue(brief, { job: { queue: 'q' } })).rejects.toMatchObject(error);
  expect(world.facts).toEqual([]);
  const client = await world.runtime.openClient();
  await expect(client.delegate(brief)).rejects.toMatchObject(error);
  await client.close();
  await expect(world.runtime.start({ task: 'x', rules: ['deny Bash:rm *'] })).rejects.toMatchObject(
    refused('deny Bash:rm \\*', 'the brief, rules.0', 'bash'),
  );
});

it.each(['deny web*', 'deny mcp__any__thing', 'deny network', 'ask git', 'deny Task', 'deny delegate', 'deny acp__claude__Skill'])(
  'of a brief is accepted: %s',
  async (rule) => {
    await using world = await createWorld({ script: quick });
    expect(await (await world.runtime.start({ task: 'x', rules: [rule] })).outcome).toMatchObject({ status: 'completed' });
  },
);

it('that was recorded stays valid in a follow-up, and new ones are checked', async () => {
  // As a program with a tool `deploy` has recorded it.
  const settings: WorldOptions['settings'] = { checkRules: (rules, owner, more) => checkRules(rules, owner, [...more, 'deploy']) };
  const memory = createMemoryData();
  const store = createMemoryStore({ memory });
  await using program = await createWorld({ script: quick, store: createMemoryStore({ memory }), settings });
  const earlier = await program.runtime.start({ task: 'x', rules: ['deny deploy'] });
  await earlier.outcome;
  await using world = await createWorld({
    script: quick,
    store,
    settings: { workspace: program.workspace },
    options: { ids: systemIds },
  });
  const api = createWorldApi(store, async () => world.runtime);
  await expect(api.message(earlier.id, 'more', { rules: ['deny bahs'] })).rejects.toMatchObject(
    refused('deny bahs', 'the message, rules.0', 'bash'),
  );
  expect(await store.runs({})).toHaveLength(1);
  const result = await api.message(earlier.id, 'more', { rules: ['deny bash'] });
  if (result.kind !== 'continued') throw new Error(result.kind);
  expect(await result.handle.outcome).toMatchObject({ status: 'completed' });
});

it('of a message to a run of another process is refused before it is sent; tools that only that process has are known', async () => {
  const deploy = { name: 'deploy', description: 'd', prompt: 'p', childTools: ['release'], source: 'test' };
  const memory = createMemoryData();
  await using world = await createWorld({ script: late, agents: [deploy], store: createMemoryStore({ memory }) });
  const other = createMemoryStore({ memory });
  const run = await world.runtime.start({ task: 'x', agent: 'deploy' });
  const orders: Order[] = [];
  const order: Store['order'] = async (given) => {
    orders.push(given);
    await other.order(given);
  };
  const store: Store = { ...other, order };
  const api = createWorldApi(store, () => Promise.reject(new Error('it drives nothing')));
  await expect(api.message(run.id, 'x', { rules: ['deny bahs'] })).rejects.toMatchObject(
    refused('deny bahs', 'the message, rules.0', 'bash'),
  );
  expect(orders).toEqual([]);
  expect(await api.message(run.id, 'x', { rules: ['deny release'] })).toEqual({ kind: 'sent' });
  expect(orders).toMatchObject([{ kind: 'message', rules: ['deny release'] }]);
  await run.cancel('enough', 'somebody');
  await run.outcome;
});

it('of a message to a run of this process is refused, and nothing is recorded', async () => {
  await using world = await createWorld({ script: late });
  const run = await world.runtime.start({ task: 'x' });
  await expect(run.send('x', 'ada', ['deny bahs'])).rejects.toMatchObject(refused('deny bahs', 'the message, rules.0', 'bash'));
  expect(world.types()).not.toContain('message.received');
  await run.cancel('enough', 'somebody');
  await run.outcome;
});

function createWorldApi(store: Store, runtime: Parameters<typeof createApi>[0]['runtime']) {
  const catalog = createCatalog(builtInAgents);
  return createApi({ store, clock: systemClock, ids: systemIds, catalog, dialect: native, runtime, checkRules });
}
