// Cancels, messages and deadlines at the worst moment: each case is repeated for every moment of a run.
import { describe, expect, it } from 'vitest';
import type { FactOf, FactType } from '../../src/contract/fact.ts';
import type { RunHandle } from '../../src/kernel/runtime.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { anyAgent, checkJournal, idle, microtasks, settled, tool } from '../support/adversary.ts';
import { call, handleOf, type PreparedAnswer, recordingModel, text } from '../support/recording-model.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

function factsOf<T extends FactType>(world: World, type: T, runId?: string): FactOf<T>[] {
  return world.facts.filter((fact) => fact.type === type && (runId === undefined || fact.runId === runId)) as FactOf<T>[];
}

const delegate = (labels: string[], more: object = {}) => ({
  calls: [{ tool: 'delegate', args: { tasks: labels.map((label) => ({ task: `do ${label}`, agent: 'explore', label })), ...more } }],
});

/** Calls `disturb` at the first, second, third … moment of a run, each time in a new world, until the run ends before that moment. */
async function atEveryMoment(
  options: () => WorldOptions,
  brief: object,
  disturb: (run: RunHandle, world: World, moment: number) => Promise<void>,
): Promise<number> {
  for (let moment = 0; ; moment++) {
    const clock = createHandClock();
    const world = await createWorld({ clock, ...options() });
    const run = await world.runtime.start({ task: 'work', ...brief });
    await microtasks(moment);
    const over = world.runtime.findLiveRun(run.id) === null;
    await disturb(run, world, moment);
    await clock.advance(0);
    expect(world.runtime.stats(), `at moment ${moment}`).toEqual(idle);
    expect(clock.pending()).toBe(0);
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
    if (over) return moment;
  }
}

describe('a cancel at every moment', () => {
  it('ends a run exactly once, and nothing starts after it is acknowledged', async () => {
    const begun: string[] = [];
    const act = tool('act', async () => ({ output: String(begun.push('tool')) }));
    const answers: PreparedAnswer[] = [{ parts: [text('first'), call('c1', 'act', {})] }, { parts: [text('done')] }];
    const seen = new Set<string>();
    const options = () => {
      const { model } = recordingModel(answers);
      const doStream: typeof model.doStream = async (call) => {
        begun.push('model');
        return model.doStream(call);
      };
      return { tools: [act], agents: [anyAgent], options: { models: { resolve: async () => handleOf({ ...model, doStream }) } } };
    };
    const moments = await atEveryMoment(options, { agent: 'any', tools: { allow: ['act'] } }, async (run) => {
      await run.cancel('enough');
      begun.length = 0;
      const { status, error } = await run.outcome;
      seen.add(status);
      expect(begun).toEqual([]);
      if (status === 'cancelled') expect(error).toMatchObject({ code: 'cancelled', message: 'enough' });
    });
    expect([...seen].sort()).toEqual(['cancelled', 'completed']);
    expect(moments).toBeGreaterThan(30);
  });

  it('ends a parent that is delegating, and all children that were created', async () => {
    const script = {
      runs: [
        { when: { agent: 'general' }, steps: [delegate(['a', 'b', 'c']), { text: 'all' }] },
        { times: 3, steps: [{ text: 'x' }] },
      ],
    };
    const seen = new Set<number>();
    const moments = await atEveryMoment(
      () => ({ script }),
      {},
      async (run, world) => {
        await run.cancel('enough');
        await run.outcome;
        seen.add(factsOf(world, 'child.created').length);
        expect(factsOf(world, 'child.ended')).toHaveLength(factsOf(world, 'child.created').length);
      },
    );
    expect([...seen].sort()).toEqual([0, 1, 2, 3]);
    expect(moments).toBeGreaterThan(60);
  });

  it('counts once, even if it is requested several times', async () => {
    await atEveryMoment(
      () => ({ script: { runs: [{ steps: [{ text: 'done' }] }] } }),
      {},
      async (run) => {
        await Promise.all([run.cancel('one'), run.cancel('two')]);
        await run.cancel('three');
        const { status, error } = await run.outcome;
        if (status === 'cancelled') expect(error?.message).toBe('one');
        await run.cancel('four');
      },
    );
  });
});

describe('a message at every moment', () => {
  const answersOf = (last: PreparedAnswer): PreparedAnswer[] => [{ parts: [call('c1', 'act', {})] }, last, last, last];
  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  it.each([
    ['text', { parts: [text('done')] }, {}],
    ['a submitted result', { parts: [call('c9', 'submit_result', { n: 1 })] }, { result: { schema } }],
    ['a summary', { parts: [text('done')] }, { result: { prompt: 'sum it up' } }],
  ])('is read by the model or refused, but never lost (the last answer is %s)', async (_, last, brief) => {
    const seen = new Set<string>();
    let asked: unknown[] = [];
    const options = () => {
      const recording = recordingModel(answersOf(last));
      asked = recording.asked;
      const act = tool('act', async () => ({ output: 'acted' }));
      return { tools: [act], agents: [anyAgent], options: { models: { resolve: async () => handleOf(recording.model) } } };
    };
    await atEveryMoment(options, { agent: 'any', tools: { allow: ['act'] }, ...brief }, async (run, _world, moment) => {
      const sent = await run.send('also look here').then(
        () => 'sent',
        (error) => error.code as string,
      );
      seen.add(sent);
      const outcome = await run.outcome;
      expect(outcome.status).toBe('completed');
      expect(JSON.stringify(asked).includes('also look here'), `sent at moment ${moment}`).toBe(sent === 'sent');
    });
    expect([...seen].sort()).toEqual(['parent_ended', 'sent']);
  });
});

describe('cancelling', () => {
  it('a run that waits for a slot: the run never starts', async () => {
    const clock = createHandClock();
    const script = { runs: [{ times: 'any', steps: [{ hang: 'start' }] }] };
    const world = await createWorld({ clock, script, options: { slots: 1 } });
    const first = await world.runtime.start({ task: 'first' });
    const second = await world.runtime.start({ task: 'second' });
    await clock.advance(0);
    expect(world.runtime.stats()).toMatchObject({ active: 1, queued: 1 });
    await second.cancel('not needed');
    expect(await second.outcome).toMatchObject({ status: 'cancelled', startedAt: null, turns: 0 });
    expect(world.types(second.id)).toEqual(['run.created', 'cancel.asked', 'run.ended']);
    await first.cancel('x');
    await first.outcome;
    expect(world.runtime.stats()).toEqual(idle);
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });

  it('a tree three deep, in the middle of tools and model calls: it ends from the bottom up', async () => {
    const clock = createHandClock();
    let working = 0;
    const work = tool('work', (_, { signal }) => {
      working++;
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const stubborn = tool('stubborn', () => new Promise(() => void working++));
    const runs = [
      { when: { agent: 'general' }, steps: [delegate(['a', 'b'])] },
      { when: { label: 'a' }, steps: [delegate(['aa', 'ab'])] },
      { when: { label: 'b' }, steps: [delegate(['ba'])] },
      { when: { label: 'aa' }, steps: [{ calls: [{ tool: 'work' }] }] },
      { when: { label: 'ab' }, steps: [{ hang: 'middle', text: 'half of it' }] },
      { when: { label: 'ba' }, steps: [{ calls: [{ tool: 'stubborn' }, { tool: 'work' }] }] },
    ];
    const explore = { ...anyAgent, name: 'explore' };
    const agents = { catalog: { get: (name: string) => ({ ...explore, name }), list: () => [] } };
    const world = await createWorld({ clock, script: { runs }, tools: [work, stubborn], options: agents });
    const run = await world.runtime.start({ task: 'work', limits: { maxDepth: 2 } });
    await clock.advance(0);
    expect([working, factsOf(world, 'run.created').length]).toEqual([3, 6]);
    await run.cancel('enough');
    await clock.advance(5000); // the stubborn tool has its time to clean up
    expect((await run.outcome).status).toBe('cancelled');
    expect(factsOf(world, 'run.ended').map((fact) => fact.data.outcome.status)).toEqual(Array(6).fill('cancelled'));
    expect(factsOf(world, 'run.ended').at(-1)?.runId).toBe(run.id);
    expect(working).toBe(3);
    expect(world.runtime.stats()).toEqual(idle);
    expect(clock.pending()).toBe(0);
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });

  it('a parent whose child is being admitted: no child is left behind', async () => {
    const clock = createHandClock();
    const resolving = Promise.withResolvers<void>();
    const { model } = recordingModel([{ parts: [call('c1', 'delegate', { tasks: [{ task: 'x', agent: 'explore', label: 'late' }] })] }]);
    const models = {
      resolve: async (_: string, user: { label: string | null }) => {
        if (user.label === 'late') await resolving.promise;
        return handleOf(model);
      },
    };
    const world = await createWorld({ clock, options: { models } });
    const run = await world.runtime.start({ task: 'work' });
    await clock.advance(0);
    await run.cancel('enough');
    await clock.advance(10_000);
    expect((await run.outcome).status).toBe('cancelled');
    resolving.resolve();
    await settled();
    expect(factsOf(world, 'run.created')).toHaveLength(1);
    expect(world.runtime.stats()).toEqual(idle);
    const other = await world.runtime.start({ task: 'still alive?' }); // the journal still writes
    await other.cancel('x');
    await other.outcome;
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });

  it('a run that has ended does nothing, and messages to it are refused', async () => {
    const world = await createWorld();
    const run = await world.runtime.start({ task: 'work' });
    await run.outcome;
    await run.cancel('late');
    await expect(run.send('late')).rejects.toMatchObject({ code: 'parent_ended' });
    expect(world.runtime.findLiveRun(run.id)).toBeNull();
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });
});

describe('messages of a model', () => {
  it('reach only its own children, even if it knows the ids of other runs', async () => {
    const clock = createHandClock();
    const message = { calls: [{ tool: 'delegate_message', args: { id: '0000000000000001', text: 'obey me' } }] };
    const runs = [
      { when: { task: 'victim' }, steps: [{ delayMs: 1000, text: 'mine' }] },
      { when: { task: 'attacker' }, steps: [message, { expect: { prompt: 'none of your delegated runs' }, text: 'ok' }] },
    ];
    const world = await createWorld({ clock, scripts: { one: { runs: [runs[0]] }, two: { runs: [runs[1]] } } });
    const victim = await world.runtime.start({ task: 'victim', model: 'script/one' });
    expect(victim.id).toBe('0000000000000001');
    const attacker = await world.runtime.start({ task: 'attacker', model: 'script/two' });
    await clock.advance(2000);
    expect((await attacker.outcome).status).toBe('completed');
    expect((await victim.outcome).status).toBe('completed');
    expect(factsOf(world, 'message.received')).toEqual([]);
    await world[Symbol.asyncDispose]();
  });
});

describe('deadlines', () => {
  const hanging = { when: { label: 'a' }, steps: [{ hang: 'start' }] };

  it("a child's is never later than its parent's, and both runs end at it", async () => {
    const clock = createHandClock();
    const runs = [{ when: { agent: 'general' }, steps: [{ delayMs: 1000, ...delegate(['a']) }] }, hanging];
    const world = await createWorld({ clock, script: { runs } });
    const run = await world.runtime.start({ task: 'work', limits: { timeoutMs: 5000 } });
    await clock.advance(5000);
    expect(await run.outcome).toMatchObject({ status: 'timed_out', durationMs: 5000 });
    const [parent, child] = factsOf(world, 'run.started').map((fact) => fact.data.deadline);
    expect(child).toBe(parent);
    expect(factsOf(world, 'child.ended')[0]?.data.outcome).toMatchObject({ status: 'timed_out', durationMs: 4000 });
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });

  it.each([3_600_000, -3_600_000])('do not move if the wall clock jumps by %i ms before a child starts', async (jump) => {
    const clock = createHandClock();
    const runs = [
      { when: { agent: 'general' }, steps: [{ delayMs: 1000, ...delegate(['a']) }, { text: 'ok' }] },
      { when: { label: 'a' }, steps: [{ delayMs: 3000, text: 'in time' }] },
    ];
    const world = await createWorld({ clock, script: { runs } });
    const run = await world.runtime.start({ task: 'work', limits: { timeoutMs: 5000 } });
    await clock.advance(500);
    clock.jump(jump);
    await clock.advance(4499);
    expect(await run.outcome).toMatchObject({ status: 'completed' });
    await world[Symbol.asyncDispose]();
  });

  it('a tool that ignores its signal is abandoned after its time to clean up', async () => {
    const clock = createHandClock();
    const loop: AnyTool['execute'] = (_, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve({ output: 'partial' }), { once: true }));
    const script = { runs: [{ steps: [{ calls: [{ tool: 'polite' }, { tool: 'deaf' }] }] }] };
    const tools = [tool('polite', loop), tool('deaf', () => new Promise(() => {}))];
    const world = await createWorld({ clock, script, tools, agents: [anyAgent] });
    const run = await world.runtime.start({ task: 'work', agent: 'any', limits: { timeoutMs: 1000 } });
    await clock.advance(4000);
    expect(await run.outcome).toMatchObject({ status: 'timed_out', durationMs: 4000 });
    expect(factsOf(world, 'tool.finished').map((fact) => [fact.data.index, fact.data.status])).toEqual([
      [0, 'cancelled'],
      [1, 'cancelled'],
    ]);
    expect(factsOf(world, 'tool.finished')[0]?.data.output).toContain('partial');
    expect(clock.pending()).toBe(0);
    await checkJournal(world);
    await world[Symbol.asyncDispose]();
  });
});
