// Properties that hold for the timeline of any tree, at any moment: T1, T3 and T5 of views/timeline.ts, and contiguous critical paths.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Fact, FactType } from '../../src/contract/fact.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import {
  applyToTimeline,
  createTimeline,
  findCriticalPath,
  laneSegments,
  listLanes,
  type Moment,
  type Timeline,
} from '../../src/views/timeline.ts';
import { anyAgent, tool } from '../support/adversary.ts';
import { createWorld } from '../support/world.ts';

function fold(facts: Fact[]): Timeline {
  const timeline = createTimeline();
  for (const fact of facts) applyToTimeline(timeline, fact);
  return timeline;
}

function checkTimeline(timeline: Timeline, moment: Moment): void {
  const end = Math.max(moment.now, timeline.lastAt);
  expect(listLanes(timeline)).toHaveLength(timeline.lanes.size);
  for (const lane of timeline.lanes.values()) {
    let at = lane.createdAt;
    for (const { from, to } of laneSegments(lane, moment)) {
      expect(from, 'segments follow each other without gaps').toBe(at);
      expect(to, 'segments are ordered').toBeGreaterThanOrEqual(from);
      at = to;
    }
    expect(at, 'segments cover the whole run').toBe(lane.endedAt ?? end);
    for (const mark of lane.marks) {
      expect(mark.at).toBeGreaterThanOrEqual(lane.createdAt);
      expect(mark.at).toBeLessThanOrEqual(at);
    }
  }
  for (const id of timeline.lanes.keys()) checkPath(timeline, id, moment);
}

function checkPath(timeline: Timeline, rootId: string, moment: Moment): void {
  const root = timeline.lanes.get(rootId);
  let at = root?.createdAt ?? 0;
  for (const { runId, from, to, kind } of findCriticalPath(timeline, rootId, moment)) {
    expect(from, 'steps follow each other without gaps').toBe(at);
    expect(to, 'steps have a length').toBeGreaterThan(from);
    const lane = timeline.lanes.get(runId);
    if (!lane) throw new Error('a step of an unknown run');
    const covering = laneSegments(lane, moment).filter((segment) => segment.from <= from && segment.to >= to);
    expect(covering.map((segment) => segment.kind)).toContain(kind);
    at = to;
  }
  expect(at, 'the path leads to the end').toBe(root?.endedAt ?? Math.max(moment.now, timeline.lastAt));
}

interface Plan {
  delay: number;
  steps: { delay: number; work: number[]; children: Plan[]; background: boolean; fails: boolean }[];
}

const ms = fc.integer({ min: 0, max: 300 });
const planOf = (levels: number): fc.Arbitrary<Plan> =>
  fc.record({
    delay: ms,
    steps: fc.array(
      fc.record({
        delay: ms,
        work: fc.array(ms, { maxLength: 3 }),
        children: levels === 0 ? fc.constant([]) : fc.array(planOf(levels - 1), { maxLength: 2 }),
        background: fc.boolean(),
        fails: fc.boolean(),
      }),
      { maxLength: 2 },
    ),
  });

/** The script of a tree; labels say which run a part is for. */
function planToScript({ delay, steps }: Plan, label: string, runs: object[] = []): object[] {
  const own = steps.flatMap(({ delay: delayMs, work, children, background, fails }, i) => {
    const tasks = children.map((each, n) => {
      planToScript(each, `${label}.${i}.${n}`, runs);
      return { task: `do ${label}.${i}.${n}`, agent: 'any', label: `${label}.${i}.${n}` };
    });
    const calls = [
      ...work.map((n) => ({ tool: 'work', args: { n } })),
      ...(tasks.length > 0 ? [{ tool: 'delegate', args: { tasks, ...(background ? { wait_seconds: 0 } : {}) } }] : []),
    ];
    const failure = fails ? [{ error: { status: 500, message: 'broken' } }] : [];
    return calls.length > 0 ? [...failure, { delayMs, calls }] : failure;
  });
  // Each end of a background child is one more turn.
  const wakeUps = steps.reduce((sum, { children, background }) => sum + (background ? children.length : 0), 0);
  const last = Array.from({ length: 1 + wakeUps }, () => ({ delayMs: delay, text: `end of ${label}` }));
  runs.push({ when: { label }, steps: [...own, ...last] });
  return runs;
}

it('covers every run of a random tree, at every moment, with random orders in between', { timeout: 240_000 }, async () => {
  const order = fc.record({ after: fc.integer({ min: 0, max: 800 }), kind: fc.constantFrom('pause', 'resume', 'message', 'cancel') });
  await fc.assert(
    fc.asyncProperty(planOf(2), fc.array(order, { maxLength: 4 }), async (tree, orders) => {
      const clock = createHandClock();
      const work = tool('work', ({ n = 0 }) => new Promise((resolve) => clock.at(clock.monotonic() + n, () => resolve({ output: 'ok' }))));
      const world = await createWorld({
        clock,
        script: { runs: planToScript(tree, 'r') },
        agents: [anyAgent],
        tools: [work],
        limits: { maxDepth: 8, maxConcurrent: 2 },
      });
      const run = await world.runtime.start({ task: 'lead', agent: 'any', label: 'r' });
      for (const { after, kind } of orders) {
        await clock.advance(after);
        const live = world.runtime.findLiveRun(world.facts.findLast(({ type }) => type === 'model.asked')?.runId ?? run.id);
        if (kind === 'pause') live?.pause('a while');
        if (kind === 'resume') live?.resume();
        if (kind === 'message') await live?.send('hello').catch(() => {});
        if (kind === 'cancel') await live?.cancel('enough');
      }
      await clock.advance(20_000);
      const { facts } = world;
      const timeline = createTimeline();
      for (const [i, fact] of facts.entries()) {
        applyToTimeline(timeline, fact);
        if (i % 7 === 0) {
          checkTimeline(timeline, { now: timeline.lastAt + 13, isDriven: true, lastAt: timeline.lastAt });
          checkTimeline(timeline, { now: timeline.lastAt + 13, isDriven: false, lastAt: timeline.lastAt });
        }
      }
      checkTimeline(timeline, { now: clock.now(), isDriven: true, lastAt: timeline.lastAt });
      await world[Symbol.asyncDispose]();
    }),
    { numRuns: 25 },
  );
});

/** Facts in an order and with times that no run leaves behind: a reader must not fall over a damaged or foreign journal. */
const strangeFacts = fc.array(
  fc.record({
    run: fc.integer({ min: 1, max: 5 }),
    at: fc.integer({ min: 0, max: 10_000 }),
    turn: fc.integer({ min: 1, max: 3 }),
    flag: fc.boolean(),
    type: fc.constantFrom<FactType>(
      'run.started',
      'model.asked',
      'model.answered',
      'model.failed',
      'tool.asked',
      'tool.finished',
      'approval.asked',
      'approval.answered',
      'child.ended',
      'message.received',
      'cancel.asked',
      'run.paused',
      'run.resumed',
      'run.ended',
    ),
  }),
  { maxLength: 60 },
);

const id = (n: number) => n.toString(16).padStart(16, '0');

function strangeFact({ run, at, turn, flag, type }: { run: number; at: number; turn: number; flag: boolean; type: FactType }): Fact {
  const data = {
    ...{ turn, index: 0, attempt: 1, purpose: 'turn', model: 'm', tool: 't', arguments: {}, waits: flag, rejected: null },
    ...{ status: flag ? 'ok' : 'denied', output: '', usage: { input: 1, output: 1 }, costUsd: null, again: flag, fallback: null },
    ...{ error: { code: 'e', message: 'm' }, childId: id(run + 1), from: 'x', text: 'x', reason: 'x', by: 'x' },
    outcome: { status: 'failed', success: false, error: null, terminated: null, turns: turn },
  };
  return { runId: id(run), seq: 1, at: new Date(at).toISOString(), v: 1, type, data, hash: '' } as unknown as Fact;
}

function createdFact(n: number, at: number): Fact {
  const data = { parentId: n === 1 ? null : id(Math.floor(n / 2)), kind: 'agent', agent: null, model: null, brief: { task: 'x' } };
  return { runId: id(n), seq: 1, at: new Date(at).toISOString(), v: 1, type: 'run.created', data, hash: '' } as unknown as Fact;
}

it('keeps its properties for any facts in any order, with times that go back', () => {
  const offsets = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 5, maxLength: 5 });
  fc.assert(
    fc.property(strangeFacts, offsets, fc.boolean(), (given, at, isDriven) => {
      const facts = given.map(strangeFact);
      for (const [i, offset] of at.entries()) facts.splice(Math.min(offset, facts.length), 0, createdFact(i + 1, offset * 100));
      const timeline = fold(facts);
      checkTimeline(timeline, { now: 5000, isDriven, lastAt: timeline.lastAt });
    }),
    { numRuns: 500 },
  );
});
