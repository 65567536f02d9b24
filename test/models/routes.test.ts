// Models by agent, and cheaper ones when the budget is short: what is asked, what the facts say, and that it resumes. Every world is replayed.
import { describe, expect, test } from 'vitest';
import type { Agent } from '../../src/contract/agent.ts';
import type { Draft, Fact, FactOf, FactType } from '../../src/contract/fact.ts';
import { createJournal } from '../../src/kernel/journal.ts';
import { withPrices } from '../../src/models/prices.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { systemClock } from '../../src/system/clock.ts';
import type { ProviderStep, Scenario } from '../../src/testing/provider-server.ts';
import { createWorld, type WorldOptions } from '../support/world.ts';
import { envOf, ground } from './providers-support.ts';

const done: ProviderStep = { text: 'Done.' };
const look: ProviderStep = { calls: [{ tool: 'list', args: { path: '.' } }], usage: { input: 1000, output: 100 } };

/** Another call each time: the same one again and again would end the run. */
const search: Scenario = ({ n }) => ({ ...look, calls: [{ tool: 'glob', args: { pattern: `${n}*` } }] });

/** A call of 1,000 input tokens costs $0.10, $0.01 and $0.001. `free` has no price. */
const prices = {
  'openai-compatible/big': { input: 100, output: 100 },
  'openai-compatible/middle': { input: 10, output: 10 },
  'openai-compatible/small': { input: 1, output: 1 },
};
const [big, middle, small] = Object.keys(prices) as [string, string, string];
const unpriced = 'openai-compatible/unpriced';

function factsOf<T extends FactType>(facts: Fact[], type: T): FactOf<T>[] {
  return facts.filter((fact) => fact.type === type) as unknown as FactOf<T>[];
}

async function open(answer: Scenario | ProviderStep[], more: WorldOptions = {}) {
  const { server, models } = await ground(answer);
  const world = await createWorld({ env: envOf(server.url), ...more, options: { models: withPrices(models, prices) } });
  return { server, world };
}

async function play(brief: object, answer: Scenario | ProviderStep[], more: WorldOptions = {}) {
  const { server, world } = await open(answer, more);
  await using _ = world;
  const outcome = await (await world.runtime.start({ task: 'work', agent: 'explore', ...brief })).outcome;
  return { outcome, world, models: server.requests.map(({ model }) => model) };
}

describe('a route', () => {
  const agents: Agent[] = [{ name: 'writer', description: '', prompt: 'Write.', source: 'a test', model: middle }];
  const settings = { model: big, routes: { '*': [big, small], explore: [middle], writer: [small] } };

  test.each([
    ['of the agent', { agent: 'explore' }, 'middle'],
    ['is stronger than the definition', { agent: 'writer' }, 'small'],
    ['is weaker than the brief', { agent: 'explore', model: big }, 'big'],
    ['of all others', { agent: 'plan' }, 'big'],
  ])('%s', async (_, brief, expected) => {
    const { models } = await play(brief, () => done, { agents, settings });
    expect(models).toEqual([expected]);
  });

  test('is recorded, so that a resumed run keeps it', async () => {
    const { world } = await play({ agent: 'plan' }, () => done, { settings });
    expect(factsOf(world.facts, 'run.created')[0]).toMatchObject({ v: 9, data: { model: big, models: [big, small] } });
  });

  test('applies to children; the others inherit the list of their parent', async () => {
    const tasks = [
      { task: 'first-part', agent: 'explore' },
      { task: 'second-part', agent: 'plan' },
    ];
    const answer: Scenario = ({ body }) =>
      /(first|second)-part/.test(JSON.stringify(body.messages)) ? done : { calls: [{ tool: 'delegate', args: { tasks } }] };
    const { world } = await play({ agent: 'general' }, answer, {
      settings: { ...settings, routes: { ...settings.routes, general: [middle, small] } },
    });
    const created = factsOf(world.facts, 'run.created').map(({ data }) => [data.brief.task, data.model, data.models]);
    expect(created).toEqual(
      expect.arrayContaining([
        ['work', middle, [middle, small]],
        ['first-part', middle, [middle]],
        ['second-part', middle, [middle, small]],
      ]),
    );
  });
});

describe('a budget that is nearly used up', () => {
  const settings = { model: big, routes: { '*': [big, unpriced, middle, small] } };
  const steps: ProviderStep[] = [look, look, look, look, done];

  test('makes the run go on to the next cheaper model of its list, and says why', async () => {
    const { outcome, world, models } = await play({ limits: { maxCostUsd: 0.45 } }, steps, { settings });
    expect(outcome.status).toBe('completed');
    expect(models[0]).toBe('big');
    expect(models.at(-1)).toBe('middle');
    expect(models.join()).toMatch(/^(big,)+(middle,?)+$/);
    expect(outcome.costUsd).toBeLessThanOrEqual(0.45);
    const switched = factsOf(world.facts, 'model.asked').filter(({ data }) => data.instead);
    expect(switched).toHaveLength(1);
    const [first] = switched;
    expect(first).toMatchObject({ v: 4, data: { attempt: 1, model: middle, instead: { of: big } } });
    const { neededUsd = 0, leftUsd } = first?.data.instead ?? {};
    expect(neededUsd).toBeGreaterThan(0.05);
    expect(leftUsd).toBeLessThan(neededUsd * 2);
  });

  test('ends in a last answer where no cheaper model is left', async () => {
    const { outcome, models } = await play({ limits: { maxCostUsd: 0.25 } }, search, {
      settings: { model: big, routes: { '*': [big, middle] } },
      limits: { maxTurns: 400 },
    });
    expect(outcome).toMatchObject({ status: 'exhausted', terminated: 'max_cost' });
    expect(new Set(models)).toEqual(new Set(['big', 'middle']));
    expect(outcome.costUsd).toBeLessThan(0.25 + 0.02);
  });

  test('uses no dearer model, and none without a price', async () => {
    const { outcome, world, models } = await play({ limits: { maxCostUsd: 0.03 } }, search, {
      settings: { model: middle, routes: { '*': [middle, big, unpriced] } },
    });
    expect(outcome.status).toBe('exhausted');
    expect(new Set(models)).toEqual(new Set(['middle']));
    const asked = factsOf(world.facts, 'model.asked');
    expect(asked.filter(({ data }) => data.instead)).toEqual([]);
    // The model that the run has can still pay for the last answer.
    expect(asked.at(-1)?.data).toMatchObject({ purpose: 'wrap-up', model: middle });
  });

  test('skips a dearer model for a cheaper one behind it', async () => {
    const { world, models } = await play({ limits: { maxCostUsd: 0.06 } }, search, {
      settings: { model: middle, routes: { '*': [middle, big, unpriced, small] } },
    });
    expect(models.join()).toMatch(/^(middle,)+(small,?)+$/);
    const [first] = factsOf(world.facts, 'model.asked').filter(({ data }) => data.instead);
    expect(first?.data).toMatchObject({ model: small, instead: { of: middle } });
  });

  test('changes nothing without a list', async () => {
    const { outcome, models } = await play({ limits: { maxCostUsd: 0.3 } }, search, { settings: { model: big } });
    expect(outcome).toMatchObject({ status: 'exhausted', terminated: 'max_cost' });
    expect(new Set(models)).toEqual(new Set(['big']));
  });

  test('a run that was cut off after the change resumes with the cheaper model', async () => {
    const { server, world } = await open([...steps, ...steps], { settings });
    const run = await world.runtime.start({ task: 'work', agent: 'explore', limits: { maxCostUsd: 0.45 } });
    await run.outcome;
    const at = world.facts.findIndex((fact) => fact.type === 'model.asked' && fact.data.instead !== undefined);
    const kept = world.facts.slice(0, at + 1);
    const store = createMemoryStore();
    const owner = await store.open();
    const journal = createJournal({ store, owner, clock: systemClock, onLost: () => {} });
    const started = kept.find((fact) => fact.type === 'run.started') as FactOf<'run.started'>;
    const created = kept[0] as FactOf<'run.created'>;
    const hashes = [started.data.system, started.data.tools, created.data.definition ?? null].filter((hash) => hash !== null);
    const blobs = await Promise.all(hashes.map(async (hash) => ({ hash, content: (await world.store.blob(hash)) as string })));
    await journal.record(run.id, [{ runId: run.id, drafts: kept.map(({ type, data }) => ({ type, data }) as Draft) }], { blobs });
    await store.release(owner);
    server.requests.length = 0;
    // The configuration has changed meanwhile.
    const second = await open(() => done, { settings: { workspace: world.workspace, model: big }, store });
    const resumed = await second.world.runtime.resume(run.id, 'a test');
    if (!resumed.ok) throw new Error('not resumed');
    expect(await resumed.handles[0]?.outcome).toMatchObject({ status: 'completed' });
    expect(second.server.requests.map(({ model }) => model)).toEqual(['middle']);
    await second.world[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });
});
