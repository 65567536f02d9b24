// Trees at their limits: races for the last allowed run, keys used twice, wide and long trees, and a runtime that closes meanwhile.
import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Brief } from '../../src/contract/brief.ts';
import type { FactOf, FactType } from '../../src/contract/fact.ts';
import { inlineExecutor } from '../../src/hosts/inline.ts';
import type { Delegation } from '../../src/ports/delegation.ts';
import type { ModelRequester } from '../../src/ports/model.ts';
import { Stop, type StopSignal } from '../../src/ports/stop.ts';
import type { Store } from '../../src/ports/store.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { anyAgent, checkJournal, idle, microtasks, settled, tool } from '../support/adversary.ts';
import { call, handleOf, recordingModel, text } from '../support/recording-model.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

function factsOf<T extends FactType>(world: World, type: T): FactOf<T>[] {
  return world.facts.filter((fact) => fact.type === type) as FactOf<T>[];
}

const hanging = { runs: [{ times: 'any', steps: [{ hang: 'start' }] }] };
const quick = { runs: [{ times: 'any', steps: [{ text: 'done' }] }] };

type Given = WorldOptions & { onWorld?: (world: World) => void };

/** A root that delegates with `use`; its children answer at once. */
async function withDelegation(use: (delegation: Delegation, signal: AbortSignal) => Promise<unknown>, given: Given = {}, brief = {}) {
  let used: Promise<unknown> = Promise.reject(new Error('nothing was delegated'));
  used.catch(() => {});
  const spawn = tool(
    'spawn',
    async (_, { delegation, signal }) => {
      used = use(delegation, signal);
      await used;
      return { output: 'ok' };
    },
    { timeoutMs: null },
  );
  const models = {
    resolve: async (_: string, { runId, rootId }: ModelRequester) => {
      const own = runId === rootId ? [{ parts: [call('c1', 'spawn', {})] }, { parts: [text('all')] }] : [{ parts: [text('child done')] }];
      return handleOf(recordingModel(own).model);
    },
  };
  const { options, onWorld, ...rest } = given;
  const world = await createWorld({ tools: [spawn], agents: [anyAgent], ...rest, options: { models, ...options } });
  onWorld?.(world);
  const outcome = await (await world.runtime.start({ task: 'root', agent: 'any', ...brief })).outcome;
  await used;
  expect(world.runtime.stats()).toEqual(idle);
  return { world, outcome };
}
const child = (n: number): Brief => ({ task: `child ${n}`, agent: 'any', tools: { allow: [] } });

describe('the last run that a tree may have', () => {
  it('is started once, even if several briefs ask for it at the same time', async () => {
    const { world } = await withDelegation(
      async (delegation) => {
        const started = (await Promise.all([1, 2, 3].map((n) => delegation.start([child(n)])))).flat();
        expect(started.map((each) => (each.ok ? 'started' : each.error.code)).sort()).toEqual(['max_runs', 'max_runs', 'started']);
        const refused = await delegation.start([{ ...child(4), agent: 'nobody' }]);
        expect(refused).toMatchObject([{ ok: false }]);
      },
      {},
      { limits: { maxRuns: 2 } },
    );
    expect(factsOf(world, 'run.created')).toHaveLength(2);
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });

  it('can be started after another brief was refused', async () => {
    const { world } = await withDelegation(
      async (delegation) => {
        expect(await delegation.start([{ ...child(1), agent: 'nobody' }])).toMatchObject([{ ok: false, error: { code: 'unknown_agent' } }]);
        expect(await delegation.start([child(2)])).toMatchObject([{ ok: true }]);
      },
      {},
      { limits: { maxRuns: 2 } },
    );
    await world[Symbol.asyncDispose]();
  });
});

describe('an idempotency key used twice', () => {
  it('at the same time starts one run, for roots and for children', async () => {
    const world = await createWorld({ clock: createHandClock(), script: hanging });
    const brief = { task: 'x', idempotencyKey: 'k' };
    const [a, b] = await Promise.all([world.runtime.start(brief), world.runtime.start(brief)]);
    const client = await world.runtime.openClient();
    const [c, d] = await Promise.all([client.delegate(brief), client.delegate(brief)]);
    const later = await client.delegate(brief);
    expect([b.id, d.id, later.id]).toEqual([a.id, c.id, c.id]);
    expect(new Set([a.id, c.id, client.id]).size).toBe(3);
    await a.cancel('x');
    expect((await b.outcome).status).toBe('cancelled');
    await client.close();
    expect((await d.outcome).status).toBe('cancelled');
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });

  it('may be used again if the first brief was refused', async () => {
    const world = await createWorld({ script: quick });
    const brief = { task: 'x', idempotencyKey: 'k' };
    const refused = await Promise.allSettled([1, 2].map(() => world.runtime.start({ ...brief, agent: 'nobody' })));
    expect(refused.map((each) => each.status)).toEqual(['rejected', 'rejected']);
    const run = await world.runtime.start(brief);
    await run.outcome;
    await expect(world.runtime.start(brief)).rejects.toMatchObject({ code: 'key_conflict', message: expect.stringContaining(run.id) });
    await world[Symbol.asyncDispose]();
  });
});

describe('continuing a run', () => {
  it('that does not exist, has not ended or never started is refused before anything is created', async () => {
    const world = await createWorld({ clock: createHandClock(), script: hanging, options: { slots: 1 } });
    const running = await world.runtime.start({ task: 'x' });
    const queued = await world.runtime.start({ task: 'x' });
    const follow = (continues: string) => world.runtime.start({ task: 'and?', continues });
    await expect(follow('00000000000000ff')).rejects.toMatchObject({ code: 'unknown_run' });
    await expect(follow(running.id)).rejects.toMatchObject({ code: 'not_continuable' });
    await queued.cancel('x');
    await queued.outcome;
    await expect(follow(queued.id)).rejects.toMatchObject({ code: 'not_continuable' });
    expect(factsOf(world, 'run.created')).toHaveLength(2);
    await running.cancel('x');
    await running.outcome;
    await world[Symbol.asyncDispose]();
  });
});

describe('an untrusted brief', () => {
  it('can neither change a prototype nor contain unknown keys', async () => {
    const world = await createWorld({ script: quick });
    const hostile = (json: string) => world.runtime.start(JSON.parse(json));
    for (const json of [
      '{"task": "x", "__proto__": {"agent": "nobody"}}',
      '{"task": "x", "limits": {"__proto__": {"maxTurns": 1}}}',
      '{"task": "x", "constructor": {}}',
    ]) {
      await hostile(json).then(
        async (run) => expect((await run.outcome).agent).toBe('general'),
        (error) => expect(error.code).toMatch(/^invalid_/),
      );
    }
    const schema = '{"type": "object", "properties": {"__proto__": {"type": "string"}}, "__proto__": {"polluted": true}}';
    const run = await hostile(`{"task": "x", "result": {"schema": ${schema}}}`).catch((error) => expect(error.code).toBe('invalid_brief'));
    await (run as { outcome: Promise<unknown> } | undefined)?.outcome;
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });
});

describe('a result whose schema has a hostile pattern', () => {
  it('is checked in bounded time, and the model reads the problem', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
    const submit = (a: string) => ({ calls: [{ tool: 'submit_result', args: { a } }] });
    const script = { runs: [{ steps: [submit(`${'a'.repeat(40)}!`), { expect: { prompt: 'longer than 250 ms' }, ...submit('aaa') }] }] };
    const world = await createWorld({ script });
    const outcome = await (await world.runtime.start({ task: 'x', result: { schema } })).outcome;
    expect(outcome).toMatchObject({ status: 'completed', data: { a: 'aaa' } });
    await world[Symbol.asyncDispose]();
  });
});

describe('closing at every moment', () => {
  it('a client that delegates: created runs end, other briefs are refused, and the runtime keeps working', async () => {
    const seen = new Set<string>();
    for (let moment = 0; moment < 40; moment++) {
      const clock = createHandClock();
      const world = await createWorld({ clock, script: hanging });
      const client = await world.runtime.openClient();
      const delegated = client.delegate({ task: 'x' }).then(
        (run) => run.outcome.then(({ status }) => status),
        (error) => error.code as string,
      );
      await microtasks(moment);
      const closed = client.close();
      seen.add(await delegated);
      expect(await closed).toMatchObject({ status: 'completed' });
      const after = await world.runtime.start({ task: 'still alive?' });
      await after.cancel('x');
      await after.outcome;
      expect(world.runtime.stats()).toEqual(idle);
      await checkJournal(world);
      await world[Symbol.asyncDispose]();
    }
    expect([...seen].sort()).toEqual(['cancelled', 'parent_ended']);
  });

  it('a runtime that starts runs: created runs end, other briefs are refused', async () => {
    const seen = new Set<string>();
    for (let moment = 0; moment < 40; moment++) {
      const world = await createWorld({ clock: createHandClock(), script: hanging });
      const started = world.runtime.start({ task: 'x' }).then(
        (run) => run.outcome.then(({ status }) => status),
        (error) => error.code as string,
      );
      const opened = world.runtime.openClient().then(
        (client) => client.close().then(({ status }) => status),
        (error) => error.code as string,
      );
      await microtasks(moment);
      await world.runtime.close();
      seen.add(await started).add(await opened);
      await expect(world.runtime.start({ task: 'y' })).rejects.toMatchObject({ code: 'parent_ended' });
      await expect(world.runtime.openClient()).rejects.toMatchObject({ code: 'parent_ended' });
      expect(world.runtime.stats()).toEqual(idle);
      await checkJournal(world);
      await world.store.close();
    }
    expect([...seen].filter((each) => !['cancelled', 'completed', 'parent_ended'].includes(each))).toEqual([]);
  });
});

describe('a wide tree', () => {
  it('stays within the budget of its root, except for calls in flight', async () => {
    const price = { input: 1000, output: 1000 }; // $1 per 1,000 tokens
    const labels = Array.from({ length: 16 }, (_, n) => `t${n}`);
    const tasks = labels.map((label) => ({ task: label, agent: 'explore', label }));
    const step = { text: 'a step', calls: [{ tool: 'list', args: { path: 'nowhere/{{n}}' } }], usage: { input: 900, output: 100 } };
    const many = Array.from({ length: 30 }, (_, n) => ({ ...step, calls: [{ tool: 'list', args: { path: `nowhere/${n}` } }] }));
    const runs = [
      {
        when: { agent: 'general' },
        steps: [{ calls: [{ tool: 'delegate', args: { tasks } }], usage: { input: 900, output: 100 } }, { text: 'x' }],
      },
      { times: 'any', steps: [...many, { text: 'end' }] },
    ];
    const world = await createWorld({ script: { model: { price }, runs } });
    const run = await world.runtime.start({ task: 'work', limits: { maxCostUsd: 40, maxConcurrent: 16 } });
    const outcome = await run.outcome;
    const calls = factsOf(world, 'model.answered').length;
    expect(outcome.costUsd).toBeLessThanOrEqual(40 + 17);
    expect(calls).toBeGreaterThan(30);
    const spent = factsOf(world, 'model.answered').reduce((sum, fact) => sum + (fact.data.costUsd ?? 0), 0);
    expect(outcome.costUsd).toBeCloseTo(spent);
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });

  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  beforeEach(() => void process.on('warning', onWarning));
  afterEach(() => void process.off('warning', onWarning));

  it('causes no warnings of Node', async () => {
    const { world, outcome } = await withDelegation(
      async (delegation) => {
        const started = await delegation.start(Array.from({ length: 200 }, (_, n) => child(n)));
        const ids = started.flatMap((each) => (each.ok ? [each.runId] : []));
        expect(ids).toHaveLength(200);
        await Promise.all(ids.map((id) => delegation.wait([id], { mode: 'all', ms: null })));
      },
      {},
      { limits: { maxRuns: 1000, maxConcurrent: 200 } },
    );
    expect(outcome.status).toBe('completed');
    await settled();
    expect(warnings).toEqual([]);
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });
});

function countListeners(signal: StopSignal): number {
  return signal instanceof Stop ? signal.listenerCount : getEventListeners(signal, 'abort').length;
}

describe('a long tree', () => {
  it('of a thousand children in sequence leaves no listener and little memory behind', async () => {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    const signals: StopSignal[] = [];
    const open: typeof inlineExecutor.open = (run) => {
      signals.push(run.signal);
      return inlineExecutor.open(run);
    };
    // The test itself must not use memory, so no fact is stored.
    const store: Store = { ...createMemoryStore(), append: async (_, units) => units.map(() => ({ ok: true })) };
    let worldFacts: unknown[] = [];
    const heap = () => {
      signals.splice(1);
      worldFacts.length = 0;
      gc();
      return process.memoryUsage().heapUsed;
    };
    const { world, outcome } = await withDelegation(
      async (delegation, own) => {
        const one = async (n: number) => {
          const [started] = await delegation.start([child(n)]);
          if (!started?.ok) throw new Error(started?.error.message);
          await delegation.wait([started.runId], { mode: 'all', ms: null });
        };
        for (let n = 0; n < 50; n++) await one(n);
        const parent = signals[0] as StopSignal;
        const listeners = [parent, own].map((signal) => countListeners(signal));
        const before = heap();
        for (let n = 0; n < 1000; n++) await one(n);
        expect([parent, own].map((signal) => countListeners(signal))).toEqual(listeners);
        const grown = (heap() - before) / 1024 / 1024;
        expect(grown).toBeLessThan(20);
      },
      { store, executor: { name: 'watching', open }, onWorld: (world) => (worldFacts = world.facts) },
      { limits: { maxRuns: 2000 } },
    );
    expect(outcome.status).toBe('completed');
    await world[Symbol.asyncDispose]();
  });
});
