// Budgets above the tree: what runs draw from them, and what happens when one is used up.
import { describe, expect, it } from 'vitest';
import type { BudgetDefinition } from '../../src/contract/budget.ts';
import type { Fact, FactOf, FactType } from '../../src/contract/fact.ts';
import { settleAbandonedDraws } from '../../src/kernel/admission/shared-budgets.ts';
import { replayTree } from '../../src/records/verify.ts';
import { createMemoryData } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { anyAgent, tool } from '../support/adversary.ts';
import { createWorld } from '../support/world.ts';

const at = (iso: string) => Date.parse(iso);
const noon = at('2026-11-17T12:00:00.000Z');
const usage = (tokens: number) => ({ input: tokens - 1, output: 1 });
const done = { text: 'done', usage: usage(100) };
const half = 12 * 3_600_000;
const none = { tokens: 0, costUsd: 0 };

function budget(overrides: Partial<BudgetDefinition> = {}): BudgetDefinition {
  return { name: 'team', tokens: 20_000, costUsd: null, per: 'day', timezone: 'UTC', whenExceeded: 'pause', ...overrides };
}

function ofType<T extends FactType>(facts: Fact[], type: T, runId?: string): FactOf<T>[] {
  return facts.filter((fact) => fact.type === type && (runId === undefined || fact.runId === runId)) as FactOf<T>[];
}

async function setUp(script: object, definitions: BudgetDefinition[], options: Parameters<typeof createWorld>[0] = {}) {
  const clock = createHandClock({ now: noon });
  const store = options?.store ?? createMemoryStore({ clock });
  for (const definition of definitions) await store.budgets.set(definition);
  const world = await createWorld({ clock, script, store, agents: [anyAgent], ...options });
  return { clock, store, world };
}

describe('a tree', () => {
  it('draws from the budgets that its brief names and from those of the settings; its children draw from the same', async () => {
    const script = {
      runs: [
        {
          when: { task: 'lead' },
          steps: [{ calls: [{ tool: 'delegate', args: { tasks: [{ task: 'work', agent: 'any' }] } }], usage: usage(300) }, done],
        },
        { when: { task: 'work' }, steps: [{ text: 'worked', usage: usage(1_000) }] },
      ],
    };
    const definitions = [budget(), budget({ name: 'project', per: 'total' }), budget({ name: 'unused' })];
    const { clock, store, world } = await setUp(script, definitions, { settings: { budgets: ['team'] } });
    await using _ = world;
    const run = await world.runtime.start({ task: 'lead', agent: 'any', budgets: ['project', 'team'] });
    await clock.advance(1_000);
    expect(await run.outcome).toMatchObject({ status: 'completed' });
    const [root, child] = ofType(world.facts, 'run.created');
    expect(root).toMatchObject({ v: 6, data: { grant: { budgets: ['project', 'team'] } } });
    expect(child?.data.grant.budgets).toBeUndefined();
    const use = (await store.budgets.list()).map(({ name, spent, reserved }) => [name, spent.tokens, reserved.tokens]);
    expect(use).toEqual([
      ['project', 1_400, 0],
      ['team', 1_400, 0],
      ['unused', 0, 0],
    ]);
  });

  it('of a client draws for everything below it, and a child may name one more', async () => {
    const script = { runs: [{ times: 'any', steps: [done] }] };
    const { clock, store, world } = await setUp(script, [budget(), budget({ name: 'own' })]);
    await using _ = world;
    const client = await world.runtime.openClient({ budgets: ['team'] });
    const runs = await Promise.all([
      client.delegate({ task: 'a', agent: 'any' }),
      client.delegate({ task: 'b', agent: 'any', budgets: ['own', 'team'] }),
    ]);
    await clock.advance(1_000);
    for (const run of runs) expect((await run.outcome).status).toBe('completed');
    await client.close();
    expect((await store.budgets.list()).map(({ name, spent, reserved }) => [name, spent.tokens, reserved.tokens])).toEqual([
      ['own', 100, 0],
      ['team', 200, 0],
    ]);
  });

  it('without a budget has none in its facts, which keep their version', async () => {
    const { clock, world } = await setUp({ runs: [{ steps: [done] }] }, [budget()]);
    await using _ = world;
    const run = await world.runtime.start({ task: 'x' });
    await clock.advance(1_000);
    await run.outcome;
    const [created] = ofType(world.facts, 'run.created');
    expect(created?.v).toBeLessThan(4);
    expect(created?.data.grant).not.toHaveProperty('budgets');
  });

  it('is refused for an unknown budget, with a suggestion', async () => {
    const { world } = await setUp({ runs: [{ steps: [done] }] }, [budget()], { excuses: {} });
    await using _ = world;
    await expect(world.runtime.start({ task: 'x', budgets: ['taem'] })).rejects.toMatchObject({
      code: 'unknown_budget',
      message: expect.stringContaining('did you mean `team`'),
    });
    await expect(world.runtime.openClient({ budgets: ['other'] })).rejects.toMatchObject({ code: 'unknown_budget' });
    await expect(world.runtime.start({ task: 'x', budgets: ['a b'] })).rejects.toMatchObject({ code: 'invalid_brief' });
    expect(world.facts).toEqual([]);
  });

  it('with a model of unknown price is refused for a budget in dollars, and not for one in tokens', async () => {
    const { clock, world } = await setUp({ runs: [{ steps: [done] }] }, [budget(), budget({ name: 'money', tokens: null, costUsd: 5 })]);
    await using _ = world;
    await expect(world.runtime.start({ task: 'x', budgets: ['money'] })).rejects.toMatchObject({
      code: 'price_unknown',
      message: expect.stringContaining('the budget money'),
    });
    const run = await world.runtime.start({ task: 'x', budgets: ['team'] });
    await clock.advance(1_000);
    expect((await run.outcome).status).toBe('completed');
  });
});

describe('a budget that is used up', () => {
  const step = (tokens: number) => ({ calls: [{ tool: 'look', args: { n: tokens } }], usage: usage(tokens) });
  const tools = [tool('look', async () => ({ output: 'seen' }))];

  it('pauses the tree durably until the next period, and its deadline waits', async () => {
    const script = { runs: [{ steps: [step(19_000), done] }] };
    const { clock, store, world } = await setUp(script, [budget()], { tools });
    await using _ = world;
    const run = await world.runtime.start({ task: 'x', agent: 'any', budgets: ['team'], limits: { timeoutMs: 60_000 } });
    await clock.advance(10_000);
    const [paused] = ofType(world.facts, 'run.paused');
    expect(paused).toMatchObject({ v: 2, data: { budget: 'team', resumeAt: '2026-11-18T00:00:00.000Z' } });
    expect(paused?.data.reason).toBe('the budget team is used up; its next period begins at 2026-11-18T00:00:00.000Z');
    expect((await store.run(run.id))?.status).toBe('paused');
    expect(world.runtime.stats()).toMatchObject({ active: 0, runs: 1 });
    await clock.advance(half - 20_000);
    expect((await store.run(run.id))?.status).toBe('paused');
    await clock.advance(11_000);
    expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'done' });
    expect(await store.budgets.list()).toMatchObject([{ spent: { tokens: 100 }, reserved: none }]);
    expect((await replayTree(run.id, store, { pause: async () => {} })).every(({ difference }) => difference === null)).toBe(true);
  });

  it('leaves the rest of the time until the deadline after the pause', async () => {
    const script = { runs: [{ steps: [step(19_000), { ...done, delayMs: 100_000 }] }] };
    const { clock, world } = await setUp(script, [budget()], { tools });
    await using _ = world;
    const run = await world.runtime.start({
      task: 'x',
      agent: 'any',
      budgets: ['team'],
      limits: { timeoutMs: 60_000, firstByteMs: 200_000 },
    });
    await clock.advance(half);
    expect(ofType(world.facts, 'run.resumed')).toHaveLength(1);
    await clock.advance(58_000);
    expect(ofType(world.facts, 'run.ended')).toEqual([]);
    await clock.advance(4_000);
    expect(await run.outcome).toMatchObject({ status: 'timed_out' });
  });

  it('pauses parents with their children, and one resume continues all of them', async () => {
    const lead = { calls: [{ tool: 'delegate', args: { tasks: [{ task: 'work', agent: 'any' }] } }], usage: usage(1_000) };
    const script = {
      runs: [
        { when: { task: 'lead' }, steps: [lead, done] },
        { when: { task: 'work' }, steps: [step(18_000), done] },
      ],
    };
    const { clock, store, world } = await setUp(script, [budget({ per: 'total' })], { tools });
    await using _ = world;
    const run = await world.runtime.start({ task: 'lead', agent: 'any', budgets: ['team'], limits: { timeoutMs: 60_000 } });
    await clock.advance(600_000);
    expect((await store.runs({})).map(({ status }) => status)).toEqual(['paused', 'paused']);
    expect(ofType(world.facts, 'run.paused')[0]?.data).toMatchObject({
      resumeAt: null,
      reason: expect.stringContaining('retinue budget set team'),
    });
    await store.budgets.set(budget({ per: 'total', tokens: 100_000 }));
    run.resume('somebody');
    await clock.advance(1_000);
    expect(await run.outcome).toMatchObject({ status: 'completed' });
    expect(await store.budgets.list()).toMatchObject([{ spent: { tokens: 19_200 }, reserved: none }]);
  });

  it('set to refuse ends running trees with a wrap-up that names it, and refuses new ones', async () => {
    const script = { runs: [{ steps: [step(18_000), { ...done, usage: usage(3_000) }] }] };
    // Enough for one more call, but not for its wrap-up besides.
    const { clock, store, world } = await setUp(script, [budget({ whenExceeded: 'refuse' })], { tools });
    await using _ = world;
    const run = await world.runtime.start({ task: 'x', agent: 'any', budgets: ['team'] });
    await clock.advance(1_000);
    expect(await run.outcome).toMatchObject({
      status: 'exhausted',
      summary: 'done',
      terminated: 'max_tokens',
      error: { code: 'max_tokens', message: 'the limit of the budget team was reached' },
    });
    expect(ofType(world.facts, 'model.asked').at(-1)).toMatchObject({
      v: 2,
      data: { purpose: 'wrap-up', cause: 'max_tokens', budget: 'team' },
    });
    expect((await replayTree(run.id, store, { pause: async () => {} })).every(({ difference }) => difference === null)).toBe(true);
    await expect(world.runtime.start({ task: 'y', budgets: ['team'] })).rejects.toMatchObject({
      code: 'budget_exceeded',
      message: 'the budget team is used up for this day: raise it with `retinue budget set team`, or wait until 2026-11-18T00:00:00.000Z',
    });
  });

  it('can be cancelled while it is paused', async () => {
    const { clock, world } = await setUp({ runs: [{ times: 'any', steps: [] }] }, [budget({ tokens: 10 })]);
    await using _ = world;
    const run = await world.runtime.start({ task: 'x', budgets: ['team'] });
    await clock.advance(3_000);
    await run.cancel('enough');
    expect((await run.outcome).status).toBe('cancelled');
    expect(world.runtime.stats()).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  });
});

describe('after the death of a process', () => {
  it('the tree that is taken over reports what its facts say, and what was reserved is free', async () => {
    const clock = createHandClock({ now: noon });
    const memory = createMemoryData();
    const store = createMemoryStore({ clock, memory });
    const hang = { calls: [{ tool: 'hang', args: {} }], usage: usage(4_000) };
    const script = { runs: [{ steps: [hang, done] }] };
    const tools = [
      tool('hang', (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)), { idempotent: false }),
    ];
    const { world: first } = await setUp(script, [budget({ per: 'total' })], { clock, store, tools });
    const run = await first.runtime.start({ task: 'x', agent: 'any', budgets: ['team'] });
    await clock.advance(1_000);
    const [before] = await store.budgets.list();
    expect(before?.reserved.tokens).toBeGreaterThan(0);
    expect(before?.spent.tokens).toBe(0);
    memory.owners.get(first.runtime.owner.id)!.isDead = true;
    const other = createMemoryStore({ clock, memory });
    expect(await settleAbandonedDraws(other)).toBe(1);
    expect(await other.budgets.list()).toMatchObject([{ spent: { tokens: 4_000 }, reserved: none }]);
    expect(await settleAbandonedDraws(other)).toBe(0);
    const second = await createWorld({ clock, store: other, script, tools, agents: [anyAgent], settings: { workspace: first.workspace } });
    const resumed = await second.runtime.resume(run.id, 'a test');
    if (!resumed.ok) throw new Error('not resumed');
    await clock.advance(1_000);
    expect(await resumed.handles[0]?.outcome).toMatchObject({ status: 'completed' });
    expect(await other.budgets.list()).toMatchObject([{ spent: { tokens: 4_100 }, reserved: none }]);
    await second[Symbol.asyncDispose]();
  });

  it('a pause for a budget goes on in the process that takes the tree over, with the rest of its time', async () => {
    const clock = createHandClock({ now: noon });
    const memory = createMemoryData();
    const store = createMemoryStore({ clock, memory });
    const script = { runs: [{ times: 'any' as const, steps: [done] }] };
    const { world: first } = await setUp(script, [budget({ tokens: 10 })], { clock, store });
    const run = await first.runtime.start({ task: 'x', agent: 'any', budgets: ['team'], limits: { timeoutMs: 60_000 } });
    await clock.advance(3_000);
    expect((await store.run(run.id))?.status).toBe('paused');
    memory.owners.get(first.runtime.owner.id)!.isDead = true;
    const other = createMemoryStore({ clock, memory });
    const second = await createWorld({ clock, store: other, script, agents: [anyAgent], settings: { workspace: first.workspace } });
    const resumed = await second.runtime.resume(run.id, 'a test', { patient: true });
    if (!resumed.ok) throw new Error('not resumed');
    await clock.advance(3_600_000);
    expect((await other.run(run.id))?.status).toBe('paused');
    await other.budgets.set(budget({ tokens: 100_000 }));
    await clock.advance(half);
    expect(await resumed.handles[0]?.outcome).toMatchObject({ status: 'completed' });
    await second[Symbol.asyncDispose]();
  });
});
