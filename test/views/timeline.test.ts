// Timelines of real runs: which segments a lane has, and what the end of a tree depended on.
import { describe, expect, it } from 'vitest';
import type { Fact, FactOf } from '../../src/contract/fact.ts';
import type { AnyTool } from '../../src/ports/tool.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock, type HandClock } from '../../src/testing/hand-clock.ts';
import {
  applyToTimeline,
  createTimeline,
  findCriticalPath,
  type Lane,
  laneSegments,
  listLanes,
  sumByKind,
  type Timeline,
} from '../../src/views/timeline.ts';
import { anyAgent, tool } from '../support/adversary.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

const start = 1_750_000_000_000;
const boss = { ...anyAgent, name: 'boss' };
const task = (label: string, more: object = {}) => ({ task: `do ${label}`, agent: 'any', label, ...more });
const delegate = (tasks: object[], more: object = {}) => ({ calls: [{ tool: 'delegate', args: { tasks, ...more } }] });
const parent = (...steps: object[]) => ({ when: { agent: 'boss' }, steps });
const child = (label: string, ...steps: object[]) => ({ when: { label }, steps });

/** A tool that takes `n` milliseconds. */
function work(clock: HandClock, more: Partial<AnyTool> = {}, name = 'work'): AnyTool {
  const execute: AnyTool['execute'] = ({ n = 0 }, { signal }) =>
    new Promise((resolve, reject) => {
      clock.at(clock.monotonic() + n, () => resolve({ output: `worked ${n}` }));
      signal.addEventListener('abort', () => reject(new Error('stopped')));
    });
  return tool(name, execute, more);
}

function fold(facts: Fact[]): Timeline {
  const timeline = createTimeline();
  for (const fact of facts) applyToTimeline(timeline, fact);
  return timeline;
}

const until = ({ lastAt }: Timeline, now = lastAt, isDriven = true) => ({ now, isDriven, lastAt });
/** `kind from-to`, in milliseconds since the start of the test. */
const short = ({ kind, from, to }: { kind: string; from: number; to: number }) => `${kind} ${from - start}-${to - start}`;
const laneNamed = (timeline: Timeline, name: string) => listLanes(timeline).find((lane) => lane.name === name) as Lane;
const segmentsOf = (timeline: Timeline, name: string, moment = until(timeline)) =>
  laneSegments(laneNamed(timeline, name), moment).map(short);
const pathOf = (timeline: Timeline, moment = until(timeline)) =>
  findCriticalPath(timeline, timeline.roots[0] as string, moment).map((step) => `${timeline.lanes.get(step.runId)?.name} ${short(step)}`);

interface Played {
  world: World;
  clock: HandClock;
  rootId: string;
}

/** Starts a run of the agent `boss` under a hand clock. */
async function play(
  runs: object[],
  { tools = () => [], ...more }: Omit<WorldOptions, 'tools'> & { tools?: (clock: HandClock) => AnyTool[] } = {},
): Promise<Played> {
  const clock = createHandClock();
  const world = await createWorld({ clock, script: { runs }, agents: [anyAgent, boss], tools: tools(clock), ...more });
  const { id } = await world.runtime.start({ task: 'lead', agent: 'boss', label: 'root' });
  return { world, clock, rootId: id };
}

describe('segments of a lane', () => {
  it('tell model calls, tool calls and the time before a retry apart', async () => {
    const { world, clock } = await play(
      [
        parent(
          { delayMs: 100, calls: [{ tool: 'work', args: { n: 50 } }], usage: { input: 10, output: 5 } },
          { error: { status: 500, message: 'broken' } },
          { delayMs: 20, text: 'done' },
        ),
      ],
      { tools: (clock) => [work(clock)] },
    );
    await clock.advance(60_000);
    const timeline = fold(world.facts);
    const lane = laneNamed(timeline, 'root');
    const segments = laneSegments(lane, until(timeline));
    expect(segments.map(({ kind }) => kind)).toEqual(['model', 'tool', 'model', 'idle', 'model']);
    expect(segments.slice(0, 3).map(short)).toEqual(['model 0-100', 'tool 100-150', 'model 150-150']);
    const [asked, used, failed, before, last] = segments;
    expect(asked?.model).toMatchObject({ turn: 1, attempt: 1, purpose: 'turn', result: 'answered', tokens: { input: 10, output: 5 } });
    expect(used?.calls).toMatchObject([{ text: 'work', status: 'ok', from: start + 100, to: start + 150 }]);
    expect([failed?.model?.result, last?.model?.result, last?.model?.attempt]).toEqual(['failed', 'answered', 2]);
    expect(before?.note).toMatch(/^before a retry \(/);
    expect(lane.marks.map(({ kind }) => kind)).toEqual(['retry']);
    expect(lane).toMatchObject({ status: 'completed', turns: 2, model: 'script/main' });
    await world[Symbol.asyncDispose]();
  });

  it('have all calls of one answer, each with its own time', async () => {
    const calls = [10, 40, 20].map((n) => ({ tool: 'work', args: { n } }));
    const { world, clock } = await play([parent({ calls }, { text: 'done' })], { tools: (clock) => [work(clock)] });
    await clock.advance(100);
    const timeline = fold(world.facts);
    expect(segmentsOf(timeline, 'root')).toEqual(['model 0-0', 'tool 0-40', 'model 40-40']);
    const [, used] = laneSegments(laneNamed(timeline, 'root'), until(timeline));
    expect(used?.calls.map(({ from, to }) => [from - start, (to as number) - start])).toEqual([
      [0, 10],
      [0, 40],
      [0, 20],
    ]);
    await world[Symbol.asyncDispose]();
  });

  it('count as waiting for children only when no tool works', async () => {
    const calls = [...delegate([task('a')]).calls, { tool: 'work', args: { n: 30 } }];
    const { world, clock } = await play([parent({ calls }, { text: 'done' }), child('a', { delayMs: 100, text: 'ok' })], {
      tools: (clock) => [work(clock)],
    });
    await clock.advance(100);
    const timeline = fold(world.facts);
    expect(segmentsOf(timeline, 'root')).toEqual(['model 0-0', 'tool 0-30', 'children 30-100', 'model 100-100']);
    expect(segmentsOf(timeline, 'a')).toEqual(['model 0-100']);
    await world[Symbol.asyncDispose]();
  });

  it('show a run without a slot as queued', async () => {
    const { world, clock } = await play(
      [
        parent(delegate([task('a'), task('b')]), { text: 'done' }),
        child('a', { delayMs: 100, text: 'ok' }),
        child('b', { delayMs: 50, text: 'ok' }),
      ],
      { limits: { maxConcurrent: 1 } },
    );
    await clock.advance(200);
    const timeline = fold(world.facts);
    expect(segmentsOf(timeline, 'b')).toEqual(['queued 0-100', 'model 100-150']);
    await world[Symbol.asyncDispose]();
  });

  it('show a background child that its parent waits for later', async () => {
    const { world, clock } = await play([
      parent(delegate([task('a')], { wait_seconds: 0 }), { delayMs: 30, text: 'started' }, { delayMs: 5, text: 'done' }),
      child('a', { delayMs: 100, text: 'ok' }),
    ]);
    await clock.advance(200);
    const timeline = fold(world.facts);
    expect(segmentsOf(timeline, 'root')).toEqual(['model 0-0', 'model 0-30', 'children 30-100', 'model 100-105']);
    // The parent's own model call from 0 to 30 ran beside the child, so it is not on the path.
    expect(pathOf(timeline)).toEqual(['a model 0-100', 'root model 100-105']);
    await world[Symbol.asyncDispose]();
  });

  it('separate the wait for an approval from the call, and mark a refusal', async () => {
    const builtIn = builtInRuleset(['delegate'], ['push']);
    const rulesets = [{ ...builtIn, rules: [...builtIn.rules, parseRule('ask push')] }];
    const { world, clock, rootId } = await play(
      [parent({ calls: [{ tool: 'push', args: { n: 40 } }] }, { calls: [{ tool: 'push', args: { n: 1 } }] }, { text: 'done' })],
      {
        tools: (clock) => [work(clock, { readOnly: false, idempotent: false }, 'push')],
        rulesets,
        options: { questions: { canAnswer: () => true } },
      },
    );
    const answer = async (allowed: boolean) => {
      const { data } = world.facts.findLast((fact) => fact.type === 'approval.asked') as FactOf<'approval.asked'>;
      await world.runtime.findLiveRun(rootId)?.answer({ turn: data.turn, index: data.index, hash: data.hash }, { allowed, by: 'ada' });
    };
    await clock.advance(1000);
    await answer(true);
    await clock.advance(40);
    await clock.advance(500);
    await answer(false);
    await clock.advance(0);
    const timeline = fold(world.facts);
    expect(segmentsOf(timeline, 'root')).toEqual([
      'model 0-0',
      'approval 0-1000',
      'tool 1000-1040',
      'model 1040-1040',
      'approval 1040-1540',
      'tool 1540-1540',
      'model 1540-1540',
    ]);
    expect(laneNamed(timeline, 'root').marks).toMatchObject([{ kind: 'denied', at: start + 1540, text: expect.stringContaining('push') }]);
    await world[Symbol.asyncDispose]();
  });

  it('show pauses with their reason, and marks for messages, failed calls and a cancel', async () => {
    const { world, clock, rootId } = await play([parent({ delayMs: 10, calls: [{ tool: 'broken' }] }, { delayMs: 1000, text: 'never' })], {
      tools: () => [tool('broken', async () => ({ output: 'no such thing', isError: true }))],
    });
    const run = world.runtime.findLiveRun(rootId);
    await clock.advance(5);
    run?.pause('lunch');
    await clock.advance(5);
    await clock.advance(300);
    run?.resume();
    await clock.advance(100);
    await run?.send('hurry \u001b[31mup');
    await clock.advance(90);
    await run?.cancel('enough');
    await clock.advance(10_000);
    const timeline = fold(world.facts);
    const lane = laneNamed(timeline, 'root');
    expect(segmentsOf(timeline, 'root').slice(0, 3)).toEqual(['model 0-10', 'paused 10-310', 'tool 310-310']);
    expect(lane.segments.find(({ kind }) => kind === 'paused')?.note).toBe('lunch');
    expect(lane.marks.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      'failure broken: error: no such thing',
      'message from the user: hurry up',
      'cancel by the caller: enough',
    ]);
    expect(lane).toMatchObject({ status: 'cancelled', endedAt: start + 500 });
    await world[Symbol.asyncDispose]();
  });

  it('show the time without a process as interrupted, in all runs of the tree', async () => {
    const store = createMemoryStore();
    const runs = [
      parent(delegate([task('a')]), { text: 'done' }),
      child('a', { calls: [{ tool: 'work', args: { n: 500 } }] }, { text: 'ok' }),
    ];
    const first = await play(runs, { store, tools: (clock) => [work(clock)] });
    await first.clock.advance(200);
    // Its process dies here. Another one continues the tree a minute later.
    await store.release(first.world.runtime.owner);
    const clock = createHandClock({ now: start + 60_000 });
    const second = await createWorld({
      clock,
      script: { runs },
      agents: [anyAgent, boss],
      tools: [work(clock)],
      store: { ...store, close: async () => {} },
      settings: { workspace: first.world.workspace },
    });
    const resumed = await second.runtime.resume(first.rootId, 'a test');
    await clock.advance(500);
    expect(await (resumed.ok && resumed.handles[0]?.outcome)).toMatchObject({ status: 'completed' });
    const facts = await store.facts({ rootId: first.rootId });
    const timeline = fold(facts);
    expect(segmentsOf(timeline, 'a')).toEqual(['model 0-0', 'interrupted 0-60000', 'tool 60000-60500', 'model 60500-60500']);
    expect(segmentsOf(timeline, 'root')).toEqual(['model 0-0', 'interrupted 0-60000', 'children 60000-60500', 'model 60500-60500']);
    expect(pathOf(timeline)).toEqual(['a interrupted 0-60000', 'a tool 60000-60500']);

    const before = fold(
      facts.slice(
        0,
        facts.findIndex(({ type }) => type === 'run.resumed'),
      ),
    );
    const alone = { now: start + 700, isDriven: false, lastAt: before.lastAt };
    expect(segmentsOf(before, 'root', alone)).toEqual(['model 0-0', 'children 0-0', 'interrupted 0-700']);
    await second[Symbol.asyncDispose]();
  });

  it('end at the given moment while the run is live', async () => {
    const { world, clock } = await play([
      parent(delegate([task('a'), task('b')]), { text: 'done' }),
      child('a', { delayMs: 100, text: 'ok' }),
      child('b', { delayMs: 300, text: 'ok' }),
    ]);
    await clock.advance(200);
    const timeline = fold(world.facts);
    const now = until(timeline, start + 250);
    expect(segmentsOf(timeline, 'root', now)).toEqual(['model 0-0', 'children 0-250']);
    expect(pathOf(timeline, now)).toEqual(['b model 0-250']);
    expect(laneNamed(timeline, 'b')).toMatchObject({ status: null, endedAt: null });
    // A browser's clock may be behind that of the server.
    expect(segmentsOf(timeline, 'b', until(timeline, start - 5000))).toEqual(['model 0-100']);
    await clock.advance(200);
    for (const fact of world.facts.slice(
      world.facts.findIndex(({ runId, type }) => runId === laneNamed(timeline, 'b').id && type === 'model.answered'),
    ))
      applyToTimeline(timeline, fact);
    expect(timeline).toEqual(fold(world.facts));
    await world[Symbol.asyncDispose]();
  });
});

it('names a run by its label, or by the first line of its task', async () => {
  const { world, clock } = await play([
    parent(delegate([{ task: 'first \u001b[31mline\nsecond', agent: 'any' }]), { text: 'done' }),
    { steps: [{ text: 'ok' }] },
  ]);
  await clock.advance(10);
  expect(listLanes(fold(world.facts)).map(({ name, task, agent, depth }) => [name, task, agent, depth])).toEqual([
    ['root', 'lead', 'boss', 0],
    ['first line', 'first line', 'any', 1],
  ]);
  await world[Symbol.asyncDispose]();
});

describe('the critical path', () => {
  it('goes through the child that ended last, at every depth', async () => {
    const { world, clock } = await play(
      [
        parent({ delayMs: 10, ...delegate([task('quick'), task('slow')]) }, { delayMs: 20, text: 'done' }),
        child('quick', { delayMs: 50, text: 'ok' }),
        child('slow', { delayMs: 30, ...delegate([task('deep')]) }, { delayMs: 5, text: 'ok' }),
        child('deep', { delayMs: 7, calls: [{ tool: 'work', args: { n: 60 } }] }, { delayMs: 3, text: 'ok' }),
      ],
      { limits: { maxDepth: 3 }, tools: (clock) => [work(clock)] },
    );
    await clock.advance(1000);
    const timeline = fold(world.facts);
    expect(pathOf(timeline)).toEqual([
      'root model 0-10',
      'slow model 10-40',
      'deep model 40-47',
      'deep tool 47-107',
      'deep model 107-110',
      'slow model 110-115',
      'root model 115-135',
    ]);
    const steps = findCriticalPath(timeline, timeline.roots[0] as string, until(timeline));
    expect(steps.find(({ kind }) => kind === 'tool')?.call?.text).toBe('work');
    expect(sumByKind(steps)).toMatchObject({ model: 75, tool: 60, children: 0 });
    await world[Symbol.asyncDispose]();
  });

  it('names the call that finished last', async () => {
    const calls = ['a', 'b', 'c'].map((name, i) => ({ tool: name, args: { n: [10, 40, 20][i] } }));
    const { world, clock } = await play([parent({ calls }, { text: 'done' })], {
      tools: (clock) => ['a', 'b', 'c'].map((name) => work(clock, {}, name)),
    });
    await clock.advance(100);
    const timeline = fold(world.facts);
    expect(findCriticalPath(timeline, timeline.roots[0] as string, until(timeline)).map(({ call }) => call?.tool)).toEqual(['b']);
    await world[Symbol.asyncDispose]();
  });

  it('counts a wait that ended without a child as time of the waiting run', async () => {
    const { world, clock } = await play([
      parent(
        delegate([task('late')], { wait_seconds: 1 }),
        { calls: [{ tool: 'delegate_cancel', args: { ids: ['last'] } }] },
        { text: 'enough' },
        { text: 'done' },
      ),
      child('late', { delayMs: 5000, text: 'late' }),
    ]);
    await clock.advance(1000);
    const timeline = fold(world.facts);
    expect(pathOf(timeline)[0]).toBe('root children 0-1000');
    await clock.advance(10_000);
    await world[Symbol.asyncDispose]();
  });

  it('includes the time in the queue', async () => {
    const { world, clock } = await play(
      [
        parent(delegate([task('a'), task('b')]), { text: 'done' }),
        child('a', { delayMs: 100, text: 'ok' }),
        child('b', { delayMs: 50, text: 'ok' }),
      ],
      { limits: { maxConcurrent: 1 } },
    );
    await clock.advance(200);
    expect(pathOf(fold(world.facts))).toEqual(['b queued 0-100', 'b model 100-150']);
    await world[Symbol.asyncDispose]();
  });
});
