// A tree is continued from its facts by another runtime (invariant 3). The first one is not closed: it represents a process that was stopped and
// wakes up later, and nothing that it does then may count.
import { describe, expect, it } from 'vitest';
import type { Fact, FactOf } from '../../src/contract/fact.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Store } from '../../src/ports/store.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { createMemoryData, type MemoryData } from '../../src/stores/memory/data.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { systemClock } from '../../src/system/clock.ts';
import { anyAgent, checkJournal, tool } from '../support/adversary.ts';
import { createGateClock } from '../support/gate-clock.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

const call = (name: string, args: object = {}) => ({ tool: name, args });

/** A second runtime on the first one's store, after the first one has lost its lease. */
async function next(store: Store, first: World, options: WorldOptions): Promise<World> {
  await store.release(first.runtime.owner);
  return createWorld({ ...options, store: { ...store, close: async () => {} }, settings: { workspace: first.workspace } });
}

async function until(world: World, holds: (facts: Fact[]) => boolean): Promise<void> {
  await expect.poll(() => holds(world.facts)).toBe(true);
}

function counted(name: string, more: Partial<AnyTool> = {}) {
  const gate = Promise.withResolvers<void>();
  let calls = 0;
  const made = tool(
    name,
    async () => {
      calls++;
      await gate.promise;
      return { output: `${name} ${calls}` };
    },
    more,
  );
  return { tool: made, calls: () => calls, open: gate.resolve };
}

describe('a resumed run', () => {
  it('repeats no answered model call and no finished tool call, and reports an interrupted call as unknown', async () => {
    const store = createMemoryStore();
    const done = counted('done');
    done.open();
    const cut = counted('cut', { idempotent: false, readOnly: false });
    const again = counted('again', { idempotent: true });
    const steps = [
      { calls: [call('done')] },
      { calls: [call('cut'), call('again')] },
      { expect: { prompt: 'not known whether' }, text: 'end' },
    ];
    const options = { script: { runs: [{ steps }] }, agents: [anyAgent], tools: [done.tool, cut.tool, again.tool], store };
    const first = await createWorld(options);
    const run = await first.runtime.start({ task: 'x', agent: 'any' });
    await until(first, () => cut.calls() === 1 && again.calls() === 1);
    await using second = await next(store, first, options);
    again.open();
    const resumed = await second.runtime.resume(run.id, 'a test');
    if (!resumed.ok) throw new Error('not resumed');
    const outcome = await resumed.handles[0]?.outcome;
    expect(outcome).toMatchObject({ status: 'completed', summary: 'end', turns: 3 });
    expect([done.calls(), cut.calls(), again.calls()]).toEqual([1, 1, 2]);
    cut.open();
    await expect(run.outcome).rejects.toMatchObject({ code: 'fenced' });
    const facts = (await checkJournal(second)).get(run.id) ?? [];
    expect(facts.filter((fact) => fact.type === 'model.answered')).toHaveLength(3);
    expect(facts.filter((fact) => fact.type === 'run.resumed')).toHaveLength(1);
    expect(second.runtime.stats()).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  });

  it('repeats an open model call as another attempt of the same request', async () => {
    const store = createMemoryStore();
    const first = await createWorld({ script: { runs: [{ steps: [{ hang: 'start' }] }] }, store });
    const run = await first.runtime.start({ task: 'x' });
    await until(first, (facts) => facts.some((fact) => fact.type === 'model.asked'));
    await using second = await next(store, first, { script: { runs: [{ steps: [{ text: 'here' }] }] } });
    const resumed = await second.runtime.resume(run.id, 'a test');
    expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'completed', summary: 'here' });
    const asked = (await store.facts({ runId: run.id })).flatMap((fact) => (fact.type === 'model.asked' ? [fact.data] : []));
    expect(asked.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(asked[0]?.request).toBe(asked[1]?.request);
  });

  it('finds the children of an interrupted delegation: none is started twice, each is reported once', async () => {
    const store = createMemoryStore();
    const slow = counted('slow', { idempotent: true });
    const tasks = ['a', 'b', 'c'].map((label) => ({ task: `do ${label}`, label, agent: 'any' }));
    const script = {
      runs: [
        { when: { agent: 'boss' }, steps: [{ calls: [call('delegate', { tasks })] }, { expect: { prompt: 'quick' }, text: 'all' }] },
        { when: { label: 'a' }, steps: [{ text: 'quick' }] },
        { when: { label: 'b' }, steps: [{ calls: [call('slow')] }, { text: 'slow b' }] },
        { when: { label: 'c' }, steps: [{ calls: [call('slow')] }, { text: 'slow c' }] },
      ],
    };
    const boss = { ...anyAgent, name: 'boss' };
    const options: WorldOptions = { script, agents: [anyAgent, boss], tools: [slow.tool], store };
    const first = await createWorld(options);
    const run = await first.runtime.start({ task: 'x', agent: 'boss' });
    await until(first, (facts) => slow.calls() === 2 && facts.some((fact) => fact.type === 'child.ended'));
    await using second = await next(store, first, options);
    slow.open();
    const resumed = await second.runtime.resume(run.id, 'a test');
    if (!resumed.ok) throw new Error('not resumed');
    expect(resumed.handles).toHaveLength(3);
    expect(await resumed.handles[0]?.outcome).toMatchObject({ status: 'completed', summary: 'all' });
    const facts = (await checkJournal(second)).get(run.id) ?? [];
    expect(facts.filter((fact) => fact.type === 'child.created')).toHaveLength(3);
    expect(facts.filter((fact) => fact.type === 'child.ended')).toHaveLength(3);
    const result = facts.find((fact) => fact.type === 'tool.finished');
    expect(result?.type === 'tool.finished' && result.data.told).toHaveLength(3);
  });

  it('times out if its deadline passed meanwhile', async () => {
    const store = createMemoryStore();
    const script = { runs: [{ steps: [{ hang: 'start' }] }] };
    const first = await createWorld({ script, store });
    const run = await first.runtime.start({ task: 'x', limits: { timeoutMs: 60_000 } });
    await until(first, (facts) => facts.some((fact) => fact.type === 'model.asked'));
    const later: Clock = { ...systemClock, now: () => systemClock.now() + 120_000 };
    await using second = await next(store, first, { script, options: { clock: later } });
    const resumed = await second.runtime.resume(run.id, 'a test');
    expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'timed_out', terminated: 'deadline' });
    expect(second.types().filter((type) => type === 'model.asked')).toEqual([]);
  });

  it('ends cancelled, with its descendants, if it was cancelled before', async () => {
    const store = createMemoryStore();
    const stuck = tool('stuck', () => new Promise(() => {}), { idempotent: true });
    const tasks = [{ task: 'a', agent: 'any' }];
    const script = {
      runs: [
        { when: { agent: 'boss' }, steps: [{ calls: [call('delegate', { tasks })] }] },
        { when: { agent: 'any' }, steps: [{ calls: [call('stuck')] }] },
      ],
    };
    const options: WorldOptions = { script, agents: [anyAgent, { ...anyAgent, name: 'boss' }], tools: [stuck], store };
    const first = await createWorld(options);
    const run = await first.runtime.start({ task: 'x', agent: 'boss' });
    await until(first, (facts) => facts.some((fact) => fact.type === 'tool.asked' && fact.data.tool === 'stuck'));
    await run.cancel('enough');
    await using second = await next(store, first, options);
    const resumed = await second.runtime.resume(run.id, 'a test');
    const outcomes = await Promise.all(resumed.ok ? resumed.handles.map((handle) => handle.outcome) : []);
    expect(outcomes.map(({ status, error }) => [status, error?.message])).toEqual([
      ['cancelled', 'enough'],
      ['cancelled', 'enough'],
    ]);
  });

  it('has spent what its facts say, so the budget of the tree still applies (invariant 5)', async () => {
    const store = createMemoryStore();
    const wait = counted('wait', { idempotent: true });
    const steps = [{ calls: [call('wait')], usage: { input: 4900, output: 50 } }, { text: 'never' }];
    const options = { script: { runs: [{ steps }] }, agents: [anyAgent], tools: [wait.tool], store };
    const first = await createWorld(options);
    const run = await first.runtime.start({ task: 'x', agent: 'any', limits: { maxTokens: 5000 } });
    await until(first, () => wait.calls() === 1);
    await using second = await next(store, first, options);
    wait.open();
    const resumed = await second.runtime.resume(run.id, 'a test');
    expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'exhausted', terminated: 'max_tokens', turns: 1 });
  });

  it('is driven by one of two processes that resume it at once; the other learns by which', async () => {
    const store = createMemoryStore();
    const first = await createWorld({ script: { runs: [{ steps: [{ hang: 'start' }] }] }, store });
    const run = await first.runtime.start({ task: 'x' });
    await until(first, (facts) => facts.some((fact) => fact.type === 'model.asked'));
    const script = { runs: [{ steps: [{ delayMs: 1, text: 'here' }] }] };
    const scriptClock = createGateClock();
    await using second = await next(store, first, { script, scriptClock });
    await using third = await createWorld({
      script,
      scriptClock,
      store: { ...store, close: async () => {} },
      settings: { workspace: first.workspace },
    });
    const both = await Promise.all([second.runtime.resume(run.id, 'one'), third.runtime.resume(run.id, 'two')]);
    scriptClock.open();
    expect(both.map(({ ok }) => ok).sort()).toEqual([false, true]);
    for (const each of both) if (each.ok) expect((await each.handles[0]?.outcome)?.status).toBe('completed');
  });

  it('that was queued starts with its agent as it was defined then', async () => {
    const store = createMemoryStore();
    const spy = { name: 'spy', description: '', prompt: 'You are the spy.', source: 'test', tools: [] };
    const options = { script: { runs: [{ times: 'any' as const, steps: [{ hang: 'start' }] }] }, store, options: { slots: 1 } };
    const first = await createWorld({ ...options, agents: [spy] });
    await first.runtime.start({ task: 'x', agent: 'spy' });
    const queued = await first.runtime.start({ task: 'y', agent: 'spy' });
    const script = { runs: [{ times: 'any' as const, steps: [{ text: 'here' }] }] };
    await using second = await next(store, first, { script, agents: [{ ...spy, prompt: 'You are somebody else.' }] });
    for (const row of await store.runs({ roots: true })) await second.runtime.resume(row.runId, 'a test');
    await until(second, (facts) => facts.filter((fact) => fact.type === 'run.ended').length === 2);
    const [started] = await store.facts({ runId: queued.id, types: ['run.started'] });
    expect(await store.blob((started as FactOf<'run.started'>).data.system as string)).toContain('You are the spy.');
  });

  it('that is paused until a later time waits for it, unless it is resumed explicitly', async () => {
    const store = createMemoryStore();
    const limited = { error: { status: 429, message: 'quota', retryAfterMs: 120_000 } };
    const script = { runs: [{ times: 'any' as const, steps: [limited, { text: 'here' }] }] };
    const first = await createWorld({ script, store });
    const run = await first.runtime.start({ task: 'x' });
    await until(first, (facts) => facts.some((fact) => fact.type === 'run.paused'));
    await using second = await next(store, first, { script: { runs: [{ steps: [{ text: 'here' }] }] } });
    const resumed = await second.runtime.resume(run.id, 'a test', { patient: true });
    expect([resumed.ok, (await store.run(run.id))?.status]).toEqual([true, 'paused']);
    if (resumed.ok) resumed.handles[0]?.resume('somebody');
    expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'completed', summary: 'here' });
    expect(second.types(run.id).filter((type) => type === 'run.paused')).toEqual([]);
  });

  it('is refused if its pinned texts were changed', async () => {
    const store = createMemoryStore();
    const script = { runs: [{ steps: [{ hang: 'start' }] }] };
    const first = await createWorld({ script, store });
    const run = await first.runtime.start({ task: 'x' });
    await until(first, (facts) => facts.some((fact) => fact.type === 'model.asked'));
    const changed = { ...store, blob: async (hash: string) => `${await store.blob(hash)} and obey` };
    await store.release(first.runtime.owner);
    const second = await createWorld({ script, store: changed, settings: { workspace: first.workspace } });
    await expect(second.runtime.resume(run.id, 'a test')).rejects.toMatchObject({ code: 'store_corrupt' });
    await second.runtime.close();
  });
});

describe('a run that was paused', () => {
  const change = { idempotent: false, readOnly: false };
  const results = async ({ store }: Pick<World, 'store'>, runId: string) =>
    (await store.facts({ runId, types: ['tool.finished'] })).flatMap((fact) =>
      fact.type === 'tool.finished' ? [`${fact.data.index} ${fact.data.status}`] : [],
    );

  it('before the calls of an answer began makes all of them once it is resumed by another process', async () => {
    const store = createMemoryStore();
    const one = counted('one', change);
    const two = counted('two', change);
    one.open();
    two.open();
    const steps = [
      { calls: [call('one'), call('two')], delayMs: 1 },
      { expect: { prompt: 'two 1' }, text: 'end' },
    ];
    const scriptClock = createGateClock();
    const options = { script: { runs: [{ steps }] }, scriptClock, agents: [anyAgent], tools: [one.tool, two.tool], store };
    const first = await createWorld(options);
    const run = await first.runtime.start({ task: 'x', agent: 'any' });
    await until(first, (facts) => facts.some(({ type }) => type === 'model.asked'));
    run.pause('a test');
    scriptClock.open();
    await until(first, (facts) => facts.some(({ type }) => type === 'run.paused'));
    await first.runtime.drain('a test');
    await using second = await next(store, first, options);
    const resumed = await second.runtime.resume(run.id, 'a test');
    expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'completed', summary: 'end', turns: 2 });
    expect([one.calls(), two.calls()]).toEqual([1, 1]);
    expect(await results(second, run.id)).toEqual(['0 ok', '1 ok']);
    await run.outcome.catch(() => {});
    await checkJournal(second);
  });

  it('during a call learns that its effect is unknown, and makes the calls that had not begun', async () => {
    const store = createMemoryStore();
    const cut = counted('cut', change);
    const later = counted('later', change);
    later.open();
    const steps = [{ calls: [call('cut'), call('later')] }, { expect: { prompt: 'not known whether' }, text: 'end' }];
    const options = { script: { runs: [{ steps }] }, agents: [anyAgent], tools: [cut.tool, later.tool], store };
    const first = await createWorld(options);
    const run = await first.runtime.start({ task: 'x', agent: 'any' });
    run.outcome.catch(() => {});
    await until(first, () => cut.calls() === 1);
    await first.runtime.drain('a test');
    expect(later.calls()).toBe(0);
    await using second = await next(store, first, options);
    const resumed = await second.runtime.resume(run.id, 'a test');
    expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'completed', turns: 2 });
    expect([cut.calls(), later.calls()]).toEqual([1, 1]);
    expect(await results(second, run.id)).toEqual(['0 unknown', '1 ok']);
    await checkJournal(second);
  });

  it('while one call ran and another awaited approval, and then lost its process, repeats neither', async () => {
    const store = createMemoryStore();
    const cut = counted('cut', { ...change, timeoutMs: null });
    const quick = counted('quick', change);
    const later = counted('later', change);
    quick.open();
    later.open();
    const calls = [call('cut'), call('quick'), call('later')];
    const tools = [cut.tool, quick.tool, later.tool];
    const builtIn = builtInRuleset(['delegate'], ['cut', 'quick', 'later']);
    const options: WorldOptions = {
      script: { runs: [{ steps: [{ calls }, { expect: { prompt: 'not known whether' }, text: 'end' }] }] },
      ...{ agents: [anyAgent], tools, store },
      rulesets: [{ ...builtIn, rules: [...builtIn.rules, parseRule('ask quick')] }],
      options: { questions: { canAnswer: () => true } },
    };
    const first = await createWorld(options);
    const run = await first.runtime.start({ task: 'x', agent: 'any' });
    run.outcome.catch(() => {});
    await until(first, () => cut.calls() === 1);
    run.pause('a test');
    await until(first, (facts) => facts.some(({ type }) => type === 'run.paused'));
    const [paused] = await store.facts({ runId: run.id, types: ['run.paused'] });
    expect(paused).toMatchObject({ v: 2, data: { begun: [{ turn: 1, index: 0 }] } });
    const [question] = first.facts.filter((fact) => fact.type === 'approval.asked');
    const { turn, index, hash } = (question as FactOf<'approval.asked'>).data;
    // Answered while the run is paused: nothing begins before it is resumed.
    await first.runtime.findLiveRun(run.id)?.answer({ turn, index, hash }, { allowed: true, by: 'ada' });
    expect([quick.calls(), later.calls()]).toEqual([0, 0]);
    await using second = await next(store, first, options);
    const resumed = await second.runtime.resume(run.id, 'a test');
    expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'completed', turns: 2 });
    expect([cut.calls(), quick.calls(), later.calls()]).toEqual([1, 1, 1]);
    expect(await results(second, run.id)).toEqual(['0 unknown', '1 ok', '2 ok']);
    await checkJournal(second);
  });
});

describe('a tree that ends every process that drives it', () => {
  const script = { runs: [{ times: 'any' as const, steps: [{ hang: 'start' as const }] }] };

  async function dieAndTakeOver(memory: MemoryData, rootId: string, workspace: string): Promise<World> {
    for (const owner of memory.owners.values()) owner.isDead = true;
    const next = await createWorld({ script, store: createMemoryStore({ memory }), settings: { workspace }, excuses: lostExcuse });
    expect(await next.runtime.resume(rootId, 'a worker', { maxTakeovers: 3 })).toMatchObject({ ok: true });
    return next;
  }
  const lostExcuse = { ended: 'other processes have taken the tree over' };

  it('ends as crashed after three takeovers without progress', async () => {
    const memory = createMemoryData();
    const store = createMemoryStore({ memory });
    const first = await createWorld({ script, store, excuses: lostExcuse });
    const { id, outcome } = await first.runtime.start({ task: 'x' });
    outcome.catch(() => {});
    await until(first, (facts) => facts.some(({ type }) => type === 'model.asked'));
    const worlds = [first];
    for (let takeover = 1; takeover <= 3; takeover++) {
      worlds.push(await dieAndTakeOver(memory, id, first.workspace));
      expect(await store.run(id)).toMatchObject({ status: 'running' });
    }
    worlds.push(await dieAndTakeOver(memory, id, first.workspace));
    expect(await store.run(id)).toMatchObject({ status: 'failed' });
    const facts = await store.facts({ runId: id });
    expect(facts.filter((fact) => fact.type === 'run.resumed' && fact.data.takeover)).toHaveLength(3);
    expect(facts.at(-1)).toMatchObject({
      type: 'run.ended',
      data: { outcome: { status: 'failed', error: { code: 'crashed', message: expect.stringContaining('died 4 times in a row') } } },
    });
    await checkJournal({ store });
    for (const world of worlds.reverse()) await world.runtime.close().catch(() => {});
  });

  it('takes no other tree with it: trees without progress are driven one at a time', async () => {
    const memory = createMemoryData();
    const store = createMemoryStore({ memory });
    const first = await createWorld({ script, store, excuses: lostExcuse });
    const starts = await Promise.all(['one', 'two', 'three'].map((task) => first.runtime.start({ task })));
    for (const { outcome } of starts) outcome.catch(() => {});
    const [one, two, three] = starts.map(({ id }) => id) as [string, string, string];
    await until(first, (facts) => facts.filter(({ type }) => type === 'model.asked').length === 3);
    const worlds = [first];
    async function takeOver(steps: { text?: string; hang?: 'start' }[]): Promise<World> {
      for (const owner of memory.owners.values()) owner.isDead = true;
      const runs = steps.map((step) => ({ times: 'any' as const, steps: [step] }));
      const settings = { workspace: first.workspace };
      const next = await createWorld({ script: { runs }, store: createMemoryStore({ memory }), settings, excuses: lostExcuse });
      worlds.push(next);
      return next;
    }
    const resumeIn = (world: World, id: string) => world.runtime.resume(id, 'a worker', { maxTakeovers: 3 });
    // Nothing is isolated yet.
    const second = await takeOver([{ hang: 'start' }]);
    for (const id of [one, two, three]) expect(await resumeIn(second, id)).toMatchObject({ ok: true });

    const third = await takeOver([{ hang: 'start' }]);
    expect(await resumeIn(third, one)).toMatchObject({ ok: true });
    for (const id of [two, three]) await expect(resumeIn(third, id)).rejects.toMatchObject({ code: 'crashed', retryable: true });
    // Together, too.
    const fourth = await takeOver([{ text: 'done' }]);
    const results = await Promise.allSettled([two, three].map((id) => resumeIn(fourth, id)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await until(fourth, (facts) => facts.some(({ type, runId }) => type === 'run.ended' && runId === two));
    // With progress the isolation ends.
    expect(await resumeIn(fourth, three)).toMatchObject({ ok: true });
    await until(fourth, (facts) => facts.some(({ type, runId }) => type === 'run.ended' && runId === three));
    const count = async (id: string) =>
      (await store.facts({ runId: id, types: ['run.resumed'] })).filter((fact) => fact.type === 'run.resumed' && fact.data.takeover).length;
    expect([await count(one), await count(two), await count(three)]).toEqual([2, 2, 2]);
    await checkJournal({ store }, [one]);
    for (const world of worlds.reverse()) await world.runtime.close().catch(() => {});
  });

  it('is not one that waits for a person, however often its process dies', async () => {
    const memory = createMemoryData();
    const store = createMemoryStore({ memory });
    const quick = counted('quick');
    quick.open();
    const builtIn = builtInRuleset(['delegate'], ['quick']);
    const options: WorldOptions = {
      script: { runs: [{ times: 'any', steps: [{ calls: [call('quick')] }, { text: 'done' }] }] },
      ...{ agents: [anyAgent], tools: [quick.tool], excuses: lostExcuse },
      rulesets: [{ ...builtIn, rules: [...builtIn.rules, parseRule('ask quick')] }],
      options: { questions: { canAnswer: () => true } },
    };
    const first = await createWorld({ ...options, store });
    const { id, outcome } = await first.runtime.start({ task: 'x', agent: 'any' });
    outcome.catch(() => {});
    await until(first, (facts) => facts.some(({ type }) => type === 'approval.asked'));
    const worlds = [first];
    async function takeOver(): Promise<World> {
      for (const owner of memory.owners.values()) owner.isDead = true;
      const next = await createWorld({ ...options, store: createMemoryStore({ memory }), settings: { workspace: first.workspace } });
      expect(await next.runtime.resume(id, 'a worker', { maxTakeovers: 3 })).toMatchObject({ ok: true });
      worlds.push(next);
      return next;
    }
    for (let takeover = 1; takeover <= 5; takeover++) {
      await takeOver();
      expect(await store.run(id)).toMatchObject({ status: 'waiting' });
    }
    const last = await takeOver();
    const [question] = first.facts.filter((fact) => fact.type === 'approval.asked');
    const { turn, index, hash } = (question as FactOf<'approval.asked'>).data;
    await last.runtime.findLiveRun(id)?.answer({ turn, index, hash }, { allowed: true, by: 'ada' });
    await expect.poll(async () => (await store.run(id))?.status).toBe('completed');
    expect(quick.calls()).toBe(1);
    await checkJournal({ store });
    for (const world of worlds.reverse()) await world.runtime.close().catch(() => {});
  });

  it('goes on for as long as it makes progress', async () => {
    const memory = createMemoryData();
    const store = createMemoryStore({ memory });
    const quick = counted('quick');
    quick.open();
    /** Each process gets one call further than the one before. */
    const optionsOf = (round: number) => ({
      script: {
        runs: [{ steps: [...Array.from({ length: round }, (_, n) => ({ calls: [call('quick', { n })] })), { hang: 'start' as const }] }],
      },
      agents: [anyAgent],
      tools: [quick.tool],
      excuses: lostExcuse,
    });
    const first = await createWorld({ ...optionsOf(1), store });
    const { id, outcome } = await first.runtime.start({ task: 'x', agent: 'any' });
    outcome.catch(() => {});
    const worlds = [first];
    for (let round = 2; round <= 6; round++) {
      const countCalls = async () => (await store.facts({ runId: id, types: ['tool.finished'] })).length;
      await expect.poll(countCalls).toBe(round - 1);
      for (const owner of memory.owners.values()) owner.isDead = true;
      const next = await createWorld({
        ...optionsOf(round),
        store: createMemoryStore({ memory }),
        settings: { workspace: first.workspace },
      });
      await next.runtime.resume(id, 'a worker', { maxTakeovers: 3 });
      worlds.push(next);
    }
    expect(await store.run(id)).toMatchObject({ status: 'running' });
    for (const world of worlds.reverse()) await world.runtime.close().catch(() => {});
  });
});
