// Failing stores, tool executors and listeners. A tree whose facts cannot be written stops as a whole and says why; other trees are not affected.
import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isRetinueError, RetinueError } from '../../src/contract/error.ts';
import type { Draft, Fact } from '../../src/contract/fact.ts';
import { createJournal } from '../../src/kernel/journal.ts';
import { foldFacts } from '../../src/kernel/state/fold.ts';
import type { ToolExecutor } from '../../src/ports/tool-executor.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { todo } from '../../src/tools/todo.ts';
import { anyAgent, checkJournal, type Fault, faultyStore, idle, settled, tool } from '../support/adversary.ts';
import { createWorld } from '../support/world.ts';

const delegate = (labels: string[], more: object = {}) => ({
  calls: [{ tool: 'delegate', args: { tasks: labels.map((label) => ({ task: `do ${label}`, agent: 'any', label })), ...more } }],
});
/** A root with three children: one in a tool call, one in a model call, one that ends quickly. */
const family = [
  { when: { task: 'work' }, steps: [{ text: 'off they go', ...delegate(['a', 'b', 'c']) }, { text: 'all' }] },
  { when: { label: 'a' }, steps: [{ calls: [{ tool: 'nap' }] }, { text: 'rested' }] },
  { when: { label: 'b' }, steps: [{ delayMs: 50, text: 'thought' }] },
  { when: { label: 'c' }, steps: [{ text: 'quick' }] },
];

const excuses = { ended: 'a tree that is lost takes no further facts; another process goes on with it' };

async function lossAt(append: number, fault: Fault) {
  const clock = createHandClock();
  let failed: string | null = null;
  let failedAt = 0;
  let sinceLost = 0;
  const store = faultyStore((unit, nth) => {
    if (unit.rootId === failed) sinceLost++;
    if (nth < append || failed !== null || unit.rootId !== '0000000000000002') return null;
    failed = unit.rootId;
    failedAt = nth;
    return fault;
  });
  const working = new Set<AbortSignal>();
  const nap = tool('nap', (_, { signal }) => {
    working.add(signal);
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  const scripts = { main: { runs: family }, other: { runs: [{ steps: [{ delayMs: 500, text: 'fine' }] }] } };
  const world = await createWorld({ clock, store, tools: [nap], agents: [anyAgent], scripts, excuses });
  const other = await world.runtime.start({ task: 'other', agent: 'any', model: 'script/other' });
  const outcome = world.runtime.start({ task: 'work', agent: 'any', limits: { timeoutMs: 100 } }).then((run) => run.outcome);
  const ending = outcome.then(
    (value) => value.status,
    (error: unknown) => (isRetinueError(error) ? error.code : `no typed error: ${error}`),
  );
  await clock.advance(200);
  const result = await ending;
  const left = { ...world.runtime.stats(), workingTools: [...working].filter((signal) => !signal.aborted).length };
  await clock.advance(1000);
  const otherStatus = await other.outcome.then(
    ({ status }) => status,
    (error) => error.code,
  );
  const stats = world.runtime.stats();
  // A rejected commit ends all trees in it.
  const lost = failed === null || fault !== 'reject' ? ['0000000000000002'] : (store.appended[failedAt - 1] ?? []);
  const facts = (await Promise.all(lost.map((rootId) => store.facts({ rootId })))).flat();
  const open = [...new Set(facts.map((fact) => fact.runId))];
  await checkJournal(world, failed === null ? [] : open);
  await world[Symbol.asyncDispose]();
  return { result, left, otherStatus, stats, pending: clock.pending(), failed: failed !== null, sinceLost, appends: store.appended.length };
}

describe('a store that fails', () => {
  it.each<Fault>(['fenced', 'conflict'])('at any commit (%s) ends one tree with a typed error, and leaves nothing', async (fault) => {
    let at = 1;
    for (let some = true; some; at++) {
      const { failed, ...rest } = await lossAt(at, fault);
      some = failed;
      if (!failed) break;
      expect(rest, `at append ${at}`).toMatchObject({
        result: 'fenced',
        left: { active: 1, queued: 0, runs: 1, workingTools: 0 },
        otherStatus: 'completed',
        stats: idle,
        pending: 0,
        sinceLost: 0,
      });
    }
    expect(at).toBeGreaterThan(8);
  });

  it('at any commit: the trees of that commit end with a typed error and leave nothing behind', async () => {
    let at = 1;
    for (let some = true; some; at++) {
      const { failed, ...rest } = await lossAt(at, 'reject');
      some = failed;
      if (!failed) break;
      expect(rest, `at append ${at}`).toMatchObject({
        result: 'store_io',
        left: { workingTools: 0 },
        stats: idle,
        pending: 0,
        sinceLost: 0,
      });
      expect(['completed', 'store_io']).toContain(rest.otherStatus);
    }
    expect(at).toBeGreaterThan(8);
  });

  it('ends a client that is delegating, and closing the client does not hang', async () => {
    const store = faultyStore((unit) => (unit.facts.some((fact) => fact.type === 'child.created') ? 'fenced' : null));
    const world = await createWorld({
      clock: createHandClock(),
      store,
      script: { runs: [{ times: 'any', steps: [{ hang: 'start' }] }] },
      excuses,
    });
    const client = await world.runtime.openClient();
    await expect(client.delegate({ task: 'x' })).rejects.toMatchObject({ code: 'fenced' });
    await expect(client.close()).rejects.toMatchObject({ code: 'fenced' });
    expect(world.runtime.stats()).toEqual(idle);
    await world[Symbol.asyncDispose]();
  });

  it('from the first commit on: runs and clients are refused, and nothing of them remains', async () => {
    const store = faultyStore(() => 'reject');
    const world = await createWorld({ clock: createHandClock(), store });
    await expect(world.runtime.start({ task: 'x' })).rejects.toMatchObject({ code: 'store_io' });
    await expect(world.runtime.openClient()).rejects.toMatchObject({ code: 'store_io' });
    expect(world.runtime.stats()).toEqual(idle);
    await world[Symbol.asyncDispose]();
  });
});

describe('an order that cannot be applied', () => {
  it('does not block other orders', async () => {
    const clock = createHandClock();
    const one = '0000000000000001';
    const store = faultyStore(({ rootId, facts }) =>
      rootId === one && facts.some(({ type }) => type === 'cancel.asked') ? 'fenced' : null,
    );
    const world = await createWorld({ clock, store, script: { runs: [{ times: 'any', steps: [{ hang: 'start' }] }] }, excuses });
    const runs = [await world.runtime.start({ task: 'a' }), await world.runtime.start({ task: 'b' })];
    const at = '2026-01-01T00:00:00.000Z';
    await Promise.all(
      runs.map(({ id }) => store.order({ id: `order ${id}`, runId: id, rootId: id, kind: 'cancel', by: 'the user', text: 'enough', at })),
    );
    await settled();
    const ends = await Promise.allSettled(runs.map((run) => run.outcome));
    expect(ends).toMatchObject([{ reason: { code: 'fenced' } }, { value: { status: 'cancelled', error: { message: 'enough' } } }]);
    expect(world.runtime.stats()).toEqual(idle);
    await world[Symbol.asyncDispose]();
  });
});

describe('facts that cannot be written', () => {
  it('are refused as a whole and change nothing', async () => {
    const world = await createWorld();
    const run = await world.runtime.start({ task: 'work' });
    await run.outcome;
    const state = foldFacts(await world.store.facts({ runId: run.id }));
    const journal = createJournal({ store: world.store, owner: world.runtime.owner, clock: createHandClock(), onLost: () => {} });
    const said = (text: unknown): Draft => ({ type: 'message.received', data: { from: 'x', text: text as string } });
    const record = (runId: string, ...drafts: Draft[]) => journal.record(run.id, [{ runId, drafts }]);
    journal.adopt(state);
    expect(() => record(run.id, said('after the end'))).toThrow('not open');
    if (state.phase.name === 'ended') state.phase = state.phase.last;
    expect(() => record('00000000000000ff', said('nobody'))).toThrow('not open');
    expect(() => record(run.id, said('fine'), said(1n))).toThrow();
    expect(state.conversation.inbox).toEqual([]);
    await record(run.id, said('fine'));
    const facts = await world.store.facts({ runId: run.id });
    expect(facts.at(-1)).toMatchObject({ type: 'message.received', seq: facts.length });
    await checkJournal(world, [run.id]);
    // Not disposed of as usual, because this journal does not replay.
    await world.runtime.close();
    rmSync(world.workspace, { recursive: true, force: true });
  });
});

describe('a tool executor that fails', () => {
  const never = new Promise<RetinueError>(() => {});
  const close = async () => {};
  const crash = new RetinueError('crashed', 'no room');
  const reject = () => Promise.reject(new Error('not used'));
  const executors: [string, ToolExecutor['open'], object][] = [
    ['fails at once', () => ({ call: reject, failed: Promise.resolve(crash), close }), { status: 'failed', error: { code: 'crashed' } }],
    [
      'throws instead of opening',
      () => {
        throw new Error('no room');
      },
      { status: 'failed', error: { code: 'internal' } },
    ],
    [
      'fails during a call',
      () => {
        const failed = Promise.withResolvers<RetinueError>();
        const call = async () => {
          failed.resolve(crash);
          throw crash;
        };
        return { call, failed: failed.promise, close };
      },
      { status: 'failed', error: { code: 'crashed' } },
    ],
    ['rejects a call', () => ({ call: reject, failed: never, close }), { status: 'completed' }],
    [
      'fails after the last call',
      () => ({ call: async () => ({ output: '' }), failed: never, close: async () => {} }),
      { status: 'completed' },
    ],
  ];

  it.each(executors)('%s: the run ends once', async (_, open, expected) => {
    const clock = createHandClock();
    const script = {
      runs: [{ times: 'any', steps: [{ calls: [{ tool: 'todo', args: { items: [] } }] }, { delayMs: 1000, text: 'done' }] }],
    };
    const world = await createWorld({ clock, script, tools: [todo], executor: { name: 'bad', open } });
    const run = await world.runtime.start({ task: 'work', agent: 'plan' });
    await settled();
    await clock.advance(2000);
    const outcome = await run.outcome;
    expect(outcome).toMatchObject(expected);
    expect(world.types().filter((type) => type === 'run.ended')).toHaveLength(1);
    expect(world.runtime.stats()).toEqual(idle);
    expect(clock.pending()).toBe(0);
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });

  it('during a call: the effect of the call is recorded as unknown', async () => {
    const [, open] = executors[2] as (typeof executors)[number];
    const script = { runs: [{ times: 'any', steps: [{ calls: [{ tool: 'todo', args: { items: [] } }] }] }] };
    const world = await createWorld({ script, tools: [todo], executor: { name: 'bad', open } });
    await (await world.runtime.start({ task: 'work', agent: 'plan' })).outcome;
    expect(world.facts.find((fact) => fact.type === 'tool.finished')).toMatchObject({ data: { status: 'unknown' } });
    await world[Symbol.asyncDispose]();
  });
});

describe('a listener', () => {
  it('that throws is removed, without any effect on runs or other listeners', async () => {
    const world = await createWorld();
    let heard = 0;
    world.runtime.listen(() => {
      heard++;
      throw new Error('a broken screen');
    });
    const after: Fact['type'][] = [];
    world.runtime.listen((event) => {
      if (event.type !== 'delta') after.push(event.type);
    });
    const run = await world.runtime.start({ task: 'work' });
    expect((await run.outcome).status).toBe('completed');
    expect(heard).toBe(1);
    expect(after).toEqual(world.types());
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });

  it('may start runs, cancel them and stop listening while it is called', async () => {
    const world = await createWorld({ script: { runs: [{ times: 'any', steps: [{ hang: 'start' }] }] } });
    const started: Promise<unknown>[] = [];
    const end = world.runtime.listen((event) => {
      if (event.type === 'run.created' && started.length < 3)
        started.push(world.runtime.start({ task: 'more' }).then((run) => run.outcome));
      if (event.type === 'model.asked') void world.runtime.findLiveRun(event.runId)?.cancel('enough');
      if (event.type === 'run.ended' && world.types().filter((type) => type === 'run.ended').length === 4) end();
    });
    const run = await world.runtime.start({ task: 'work' });
    expect((await run.outcome).status).toBe('cancelled');
    await Promise.all(started);
    expect(started).toHaveLength(3);
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });
});
