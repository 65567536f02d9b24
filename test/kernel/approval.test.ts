// Approvals: a call that needs approval waits for an answer. Question and answer are facts, so they survive a restart.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Fact, FactOf } from '../../src/contract/fact.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { systemIds } from '../../src/system/clock.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { anyAgent, settled, tool } from '../support/adversary.ts';
import { createGateClock } from '../support/gate-clock.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

/** A tool whose effect cannot be undone; rules are matched against `what`. */
function pusher() {
  const made: unknown[] = [];
  const push = tool(
    'push',
    async (input) => {
      made.push(input);
      return { output: `pushed ${input.what}` };
    },
    {
      input: z.strictObject({ what: z.string() }),
      subjects: (input) => [input.what],
      readOnly: false,
      idempotent: false,
    } as Partial<AnyTool>,
  );
  return { push, made };
}

const call = (what: string) => ({ tool: 'push', args: { what } });
const delegate = (...tasks: string[]) => ({ tool: 'delegate', args: { tasks: tasks.map((task) => ({ task, agent: 'any' })) } });
const rules = (...texts: string[]) => {
  const builtIn = builtInRuleset(['delegate', 'delegate_wait'], ['push']);
  return [{ ...builtIn, rules: [...builtIn.rules, ...['ask push', ...texts].map(parseRule)] }];
};

function asking(steps: object[] | object, { push }: { push: AnyTool }, more: WorldOptions = {}): WorldOptions {
  const runs = Array.isArray(steps) ? [{ when: { agent: 'any' }, steps }] : (steps as { runs: object[] }).runs;
  const { options, ...rest } = more;
  return {
    script: { runs },
    agents: [anyAgent],
    tools: [push],
    rulesets: rules(),
    ...rest,
    options: { questions: { canAnswer: () => true }, ...options },
  };
}

const start = (world: World, task = 'x') => world.runtime.start({ task, agent: 'any' });
const questions = (world: World) => world.facts.filter((fact) => fact.type === 'approval.asked') as FactOf<'approval.asked'>[];
const results = (world: World) =>
  (world.facts.filter((fact) => fact.type === 'tool.finished') as FactOf<'tool.finished'>[]).map((f) => f.data);

async function asked(world: World, count = 1): Promise<FactOf<'approval.asked'>> {
  await expect.poll(() => questions(world).length).toBe(count);
  return questions(world).at(-1) as FactOf<'approval.asked'>;
}

function answer(world: World, { runId, data }: FactOf<'approval.asked'>, allowed: boolean, more: { always?: boolean; hash?: string } = {}) {
  const { turn, index, hash } = data;
  return world.runtime.findLiveRun(runId)?.answer({ turn, index, hash: more.hash ?? hash }, { allowed, by: 'ada', always: more.always });
}

describe('a call that needs approval', () => {
  it('waits without a slot, and is executed as shown once it is allowed', async () => {
    const { push, made } = pusher();
    await using world = await createWorld(
      asking([{ calls: [call('main')] }, { expect: { prompt: 'pushed main' }, text: 'done' }], { push }),
    );
    const run = await start(world);
    const question = await asked(world);
    expect(question.data).toMatchObject({ tool: 'push', arguments: { what: 'main' }, subjects: ['main'], decision: { rule: 'ask push' } });
    await expect.poll(() => world.runtime.stats().active).toBe(0);
    expect((await world.store.run(run.id))?.status).toBe('waiting');
    expect(made).toEqual([]);
    expect(await answer(world, question, true)).toBe(true);
    expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'done' });
    expect(made).toEqual([{ what: 'main' }]);
    expect(await answer(world, question, false)).toBeFalsy();
  });

  it('is not executed if it is refused, and the model reads who refused it', async () => {
    const { push, made } = pusher();
    await using world = await createWorld(
      asking([{ calls: [call('main')] }, { expect: { prompt: 'refused by ada' }, text: 'ok' }], { push }),
    );
    const run = await start(world);
    await answer(world, await asked(world), false);
    await run.outcome;
    expect([made, results(world)]).toEqual([[], [expect.objectContaining({ status: 'denied' })]]);
  });

  it('is refused if there is no answer in time', async () => {
    const clock = createHandClock();
    const { push, made } = pusher();
    const options = asking(
      [{ calls: [call('main')] }, { text: 'ok' }],
      { push },
      { clock, options: { questions: { canAnswer: () => true, timeoutMs: 60_000 } } },
    );
    await using world = await createWorld(options);
    const run = await start(world);
    await clock.advance(59_000);
    expect([questions(world).length, results(world)]).toEqual([1, []]);
    await clock.advance(2000);
    expect((await run.outcome).status).toBe('completed');
    expect([made, results(world)[0]?.output]).toEqual([[], expect.stringContaining('no answer in time')]);
  });

  it('is denied at once if the tree is unattended, also for a grandchild', async () => {
    const { push, made } = pusher();
    const runs = [
      { when: { task: 'x' }, steps: [{ calls: [delegate('y')] }, { text: 'ok' }] },
      { when: { task: 'y' }, steps: [{ calls: [delegate('z')] }, { text: 'ok' }] },
      { when: { task: 'z' }, steps: [{ calls: [call('main')] }, { expect: { prompt: 'cannot ask for approval' }, text: 'ok' }] },
    ];
    await using world = await createWorld(asking({ runs }, { push }, { limits: { maxDepth: 3 }, options: { questions: undefined } }));
    expect((await (await start(world)).outcome).status).toBe('completed');
    expect([made, questions(world)]).toEqual([[], []]);
  });

  it('asked at depth 2 is answered there, and its ancestors wait', async () => {
    const { push, made } = pusher();
    const runs = [
      { when: { task: 'x' }, steps: [{ calls: [delegate('y')] }, { text: 'ok' }] },
      { when: { task: 'y' }, steps: [{ calls: [delegate('z')] }, { text: 'ok' }] },
      { when: { task: 'z' }, steps: [{ calls: [call('main')] }, { text: 'ok' }] },
    ];
    await using world = await createWorld(asking({ runs }, { push }, { limits: { maxDepth: 3 } }));
    const run = await start(world);
    const question = await asked(world);
    expect((await world.store.run(question.runId))?.depth).toBe(2);
    await answer(world, question, true);
    expect((await run.outcome).status).toBe('completed');
    expect(made).toHaveLength(1);
  });

  it('is not executed because of an answer about another call: the hash must match what was shown', async () => {
    const { push, made } = pusher();
    await using world = await createWorld(asking([{ calls: [call('main'), call('other')] }, { text: 'ok' }], { push }));
    const run = await start(world);
    await asked(world, 2);
    const [first, second] = questions(world) as [FactOf<'approval.asked'>, FactOf<'approval.asked'>];
    expect(await answer(world, first, true, { hash: second.data.hash })).toBe(false);
    expect(await answer(world, second, false)).toBe(true);
    expect(await answer(world, first, true)).toBe(true);
    await run.outcome;
    expect(made).toEqual([{ what: 'main' }]);
  });

  it('is not executed if the run is cancelled or its deadline passes meanwhile', async () => {
    const clock = createHandClock();
    const { push, made } = pusher();
    const runs = [{ times: 'any', steps: [{ calls: [call('main')] }] }];
    await using world = await createWorld(asking({ runs }, { push }, { clock }));
    const gone = await start(world);
    const late = await world.runtime.start({ task: 'y', agent: 'any', limits: { timeoutMs: 5000 } });
    await clock.advance(1000);
    await gone.cancel('enough');
    await clock.advance(10_000);
    expect([(await gone.outcome).status, (await late.outcome).status]).toEqual(['cancelled', 'timed_out']);
    expect(made).toEqual([]);
    expect(world.runtime.stats()).toMatchObject({ active: 0, queued: 0, timers: 0, runs: 0 });
  });
});

describe('an approval with always', () => {
  it('covers the same subjects in that run and below it, and nothing else', async () => {
    const { push, made } = pusher();
    const runs = [
      { when: { task: 'x' }, steps: [{ calls: [delegate('y')] }, { calls: [call('main')] }, { text: 'ok' }] },
      {
        when: { task: 'y' },
        steps: [
          { calls: [call('main')] },
          { calls: [call('main')] },
          { calls: [call('other')] },
          { calls: [delegate('z')] },
          { text: 'ok' },
        ],
      },
      { when: { task: 'z' }, steps: [{ calls: [call('main')] }, { text: 'ok' }] },
    ];
    await using world = await createWorld(asking({ runs }, { push }, { limits: { maxDepth: 3 } }));
    const run = await start(world);
    await answer(world, await asked(world), true, { always: true });
    const other = await asked(world, 2);
    expect(other.data.subjects).toEqual(['other']);
    await answer(world, other, false);
    // The parent needs its own approval: the child's does not count for it.
    const parent = await asked(world, 3);
    expect(parent).toMatchObject({ runId: run.id, data: { subjects: ['main'] } });
    await answer(world, parent, true);
    await run.outcome;
    expect(made).toHaveLength(4);
    const decided = world.facts.filter((fact) => fact.type === 'tool.asked' && fact.data.decision.rule === 'always allow');
    expect(decided).toHaveLength(2);
  });

  it('never beats a deny, not even a later one', async () => {
    const { push, made } = pusher();
    const scriptClock = createGateClock();
    await using world = await createWorld(
      asking(
        [{ calls: [call('main')] }, { delayMs: 1, calls: [call('main')] }, { expect: { prompt: 'rule `deny push:ma*`' }, text: 'ok' }],
        { push },
        { scriptClock },
      ),
    );
    const run = await start(world);
    await answer(world, await asked(world), true, { always: true });
    await expect.poll(() => made.length).toBe(1);
    await world.runtime.findLiveRun(run.id)?.send('no more', 'ada', ['deny push:ma*']);
    scriptClock.open();
    await run.outcome;
    expect(made).toHaveLength(1);
    expect(questions(world)).toHaveLength(1);
  });
});

describe('after a restart', () => {
  async function interrupted(more: Partial<WorldOptions> = {}) {
    const store = createMemoryStore();
    const { push, made } = pusher();
    const options = asking([{ calls: [call('main')] }, { text: 'done' }], { push }, more);
    const first = await createWorld({ ...options, store: { ...store, close: async () => {} }, excuses: { ended: 'left', told: 'left' } });
    const run = await start(first);
    const question = await asked(first);
    await first.runtime.drain('a deploy');
    await store.release(first.runtime.owner);
    const second = await createWorld({ ...options, store, settings: { workspace: first.workspace } });
    return { store, first, second, run, question, made };
  }

  it('a question is still open, is not asked again, and can be answered in the next process', async () => {
    const { first, second, run, question, made } = await interrupted();
    const resumed = await second.runtime.resume(run.id, 'a test');
    await settled();
    expect([made, questions(second)]).toEqual([[], []]);
    expect(await answer(second, question, true)).toBe(true);
    expect(resumed.ok && (await resumed.handles[0]?.outcome)).toMatchObject({ status: 'completed' });
    expect(made).toEqual([{ what: 'main' }]);
    await first[Symbol.asyncDispose]();
    await second[Symbol.asyncDispose]();
  });

  it('an answer that was given while no process drove the run counts when the run is resumed', async () => {
    const { store, first, second, run, question, made } = await interrupted();
    const { turn, index, hash } = question.data;
    const order = {
      id: 'o',
      runId: run.id,
      rootId: run.id,
      kind: 'approve' as const,
      by: 'the user',
      text: '',
      at: new Date(0).toISOString(),
    };
    await store.order({ ...order, call: { turn, index, hash, always: false } });
    const resumed = await second.runtime.resume(run.id, 'a test');
    expect(resumed.ok && (await resumed.handles[0]?.outcome)).toMatchObject({ status: 'completed' });
    expect(made).toHaveLength(1);
    await first[Symbol.asyncDispose]();
    await second[Symbol.asyncDispose]();
  });
});

describe('rules that come with a message', () => {
  const steps = (...more: object[]) => [{ calls: [call('main')] }, { delayMs: 1, calls: [call('main2')] }, ...more, { text: 'ok' }];

  it('apply at once to the run and to its children', async () => {
    const { push, made } = pusher();
    const runs = [
      { when: { task: 'x' }, steps: [{ calls: [delegate('y')] }, { text: 'ok' }] },
      { when: { task: 'y' }, steps: steps() },
    ];
    const scriptClock = createGateClock();
    await using world = await createWorld(asking({ runs }, { push }, { rulesets: rules('allow push'), scriptClock }));
    const run = await start(world);
    await expect.poll(() => made.length).toBe(1);
    await run.send('stop that', 'ada', ['deny push']);
    scriptClock.open();
    expect((await run.outcome).status).toBe('completed');
    expect(made).toHaveLength(1);
    const denied = results(world).find((data) => data.status === 'denied');
    expect(denied?.output).toContain('rule `deny push` of a message from ada');
  });

  it('are shown to the model, and refused as a whole if one is invalid', async () => {
    const { push } = pusher();
    const scriptClock = createGateClock();
    await using world = await createWorld(
      asking(
        [
          { delayMs: 1, calls: [call('a')] },
          { expect: { prompt: 'From now on these rules hold as well: deny push:x\\*' }, text: 'ok' },
        ],
        { push },
        { rulesets: rules('allow push'), scriptClock },
      ),
    );
    const run = await start(world);
    await expect(run.send('x', 'ada', ['deny push:x', 'forbid push'])).rejects.toMatchObject({ code: 'invalid_rule' });
    await run.send('careful', 'ada', ['deny push:x*']);
    scriptClock.open();
    await run.outcome;
    expect(world.facts.filter((fact: Fact) => fact.type === 'message.received')).toHaveLength(1);
  });

  it('still apply in the next process and in a follow-up', async () => {
    const store = createMemoryStore();
    const { push, made } = pusher();
    const options = asking([{ delayMs: 60_000, text: 'never' }], { push }, { rulesets: rules('allow push') });
    const first = await createWorld({ ...options, store: { ...store, close: async () => {} }, excuses: { ended: 'left', told: 'left' } });
    const run = await start(first);
    await run.send('no', 'ada', ['deny push']);
    await first.runtime.drain('a deploy');
    await store.release(first.runtime.owner);
    const script = { runs: [{ times: 'any', steps: [{ calls: [call('main')] }, { text: 'ok' }] }] };
    const next = { ...options, script, store, settings: { workspace: first.workspace } };
    await using second = await createWorld({ ...next, options: { ids: systemIds } });
    const resumed = await second.runtime.resume(run.id, 'a test');
    if (resumed.ok) await resumed.handles[0]?.outcome;
    const { createFollowUpBrief, loadState } = await import('../../src/kernel/recovery/history.ts');
    await (await second.runtime.start(createFollowUpBrief(await loadState(run.id, store), 'again'))).outcome;
    expect(made).toEqual([]);
    expect(results(second).map(({ status }) => status)).toEqual(['denied', 'denied']);
    await first[Symbol.asyncDispose]();
  });
});

describe('a deny that arrives while a call waits', () => {
  it('for approval: the approval no longer allows it', async () => {
    const { push, made } = pusher();
    await using world = await createWorld(
      asking([{ calls: [call('main')] }, { expect: { prompt: 'rule `deny push` of a message from ada' }, text: 'ok' }], { push }),
    );
    const run = await start(world);
    const question = await asked(world);
    await run.send('stop', 'ada', ['deny push']);
    await answer(world, question, true);
    expect((await run.outcome).status).toBe('completed');
    expect(made).toEqual([]);
  });

  it('for another call of the same answer: it is not executed', async () => {
    const { push, made } = pusher();
    const gate = Promise.withResolvers<void>();
    const slow = tool('slow', async () => gate.promise.then(() => ({ output: 'done' })), { readOnly: false });
    const options = asking(
      [{ calls: [{ tool: 'slow', args: {} }, call('main')] }, { text: 'ok' }],
      { push },
      { rulesets: rules('allow push', 'allow slow') },
    );
    await using world = await createWorld({ ...options, tools: [push, slow] });
    const run = await start(world);
    await expect.poll(() => world.types()).toContain('tool.asked');
    await run.send('stop', 'ada', ['deny push']);
    gate.resolve();
    expect((await run.outcome).status).toBe('completed');
    expect(made).toEqual([]);
    expect(results(world).map(({ status }) => status)).toEqual(['ok', 'denied']);
  });
});

describe('an approval with always', () => {
  const plain = (more: Partial<AnyTool>) => {
    const { push, made } = pusher();
    return { push: { ...push, ...more }, made };
  };

  it.each([
    {
      name: 'does not cover a part of the subjects',
      more: { subjects: (input: { what: string }) => input.what.split(' ') },
      second: 'a',
    },
    { name: 'covers only the same call if there are no subjects', more: { subjects: () => [] }, second: 'b' },
    { name: 'does not cover other arguments with the same subjects', more: { subjects: () => ['same'] }, second: 'b' },
  ])('$name', async ({ more, second }) => {
    const { push, made } = plain(more as Partial<AnyTool>);
    await using world = await createWorld(asking([{ calls: [call('a b')] }, { calls: [call(second)] }, { text: 'ok' }], { push }));
    const run = await start(world);
    await answer(world, await asked(world), true, { always: true });
    await answer(world, await asked(world, 2), false);
    await run.outcome;
    expect(made).toEqual([{ what: 'a b' }]);
  });

  it('for a tool with `bySubject` covers every call with the same subjects', async () => {
    const { push, made } = plain({ subjects: () => ['same'], bySubject: true });
    await using world = await createWorld(asking([{ calls: [call('a')] }, { calls: [call('b')] }, { text: 'ok' }], { push }));
    const run = await start(world);
    await answer(world, await asked(world), true, { always: true });
    await run.outcome;
    expect(made).toHaveLength(2);
  });
});

describe('timing of a question', () => {
  it('an answer after its expiry allows nothing, also for the second question of a model answer', async () => {
    const clock = createHandClock();
    const { push, made } = pusher();
    const questionsFor = { questions: { canAnswer: () => true, timeoutMs: 60_000 } };
    await using world = await createWorld(
      asking([{ calls: [call('a'), call('b')] }, { text: 'ok' }], { push }, { clock, options: questionsFor }),
    );
    const run = await start(world);
    await clock.advance(1000);
    const [first, second] = questions(world) as [FactOf<'approval.asked'>, FactOf<'approval.asked'>];
    expect(world.runtime.stats().active).toBe(0);
    await clock.advance(58_000);
    expect(await answer(world, first, true)).toBe(true);
    await clock.advance(3000);
    expect(await answer(world, second, true)).toBeFalsy();
    await run.outcome;
    expect(made).toEqual([{ what: 'a' }]);
  });

  it('a pause that is requested meanwhile begins, and an approved call waits for its end', async () => {
    const { push, made } = pusher();
    await using world = await createWorld(asking([{ calls: [call('a'), call('b')] }, { text: 'ok' }], { push }));
    const run = await start(world);
    await asked(world, 2);
    world.runtime.findLiveRun(run.id)?.pause('to look');
    await expect.poll(() => world.types()).toContain('run.paused');
    for (const question of questions(world)) expect(await answer(world, question, true)).toBe(true);
    await settled();
    expect(made).toEqual([]);
    world.runtime.findLiveRun(run.id)?.resume();
    expect((await run.outcome).status).toBe('completed');
    expect(made).toHaveLength(2);
    expect(world.types().filter((type) => type === 'run.paused' || type === 'run.resumed')).toEqual(['run.paused', 'run.resumed']);
  });

  it('an approved call needs a slot like any other', async () => {
    let most = 0;
    let now = 0;
    const busy = tool('push', async () => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 10));
      now--;
      return { output: 'ok' };
    });
    const runs = [{ times: 'any', steps: [{ calls: [{ tool: 'push', args: {} }] }, { text: 'ok' }] }];
    const options = { questions: { canAnswer: () => true }, slots: 1 };
    await using world = await createWorld(asking({ runs }, { push: busy }, { options }));
    const all = await Promise.all(['1', '2', '3', '4'].map((task) => start(world, task)));
    await asked(world, 4);
    await Promise.all(questions(world).map((question) => answer(world, question, true)));
    await Promise.all(all.map((run) => run.outcome));
    expect(most).toBe(1);
  });
});

describe('a follow-up of a child', () => {
  it('keeps every deny that applied to it, each ruleset separately', async () => {
    const { createRootFollowUp } = await import('../../src/records/fork.ts');
    const { push, made } = pusher();
    const runs = [
      { when: { task: 'x' }, steps: [{ calls: [delegate('y')] }, { text: 'ok' }] },
      { when: { task: 'y' }, steps: [{ delayMs: 1, text: 'ok' }] },
      { when: { task: 'again' }, times: 'any', steps: [{ calls: [call('main')] }, { text: 'ok' }] },
    ];
    for (const denied of [['deny *'], ['deny pu*'], ['deny *:main'], ['deny push:main', 'ask push:other']]) {
      const scriptClock = createGateClock();
      await using world = await createWorld(asking({ runs }, { push }, { rulesets: rules('allow push'), scriptClock }));
      const run = await start(world);
      await expect.poll(() => world.types()).toContain('child.created');
      await run.send('no', 'ada', denied);
      await run.send('and', 'ada', ['ask push', 'allow push:*']);
      scriptClock.open();
      await run.outcome;
      const child = world.facts.find((fact) => fact.type === 'child.created') as FactOf<'child.created'>;
      const brief = await createRootFollowUp(child.data.childId, { task: 'again' }, world.store);
      await (await world.runtime.start(brief)).outcome;
      expect(made, denied.join()).toEqual([]);
    }
  });
});
