// What the timeline page shows and says, for the facts of real runs.
import { expect, it } from 'vitest';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { applyToTimeline, createTimeline, type Lane, laneSegments, sumByKind, type Timeline } from '../../src/views/timeline.ts';
import { describeBar, formatSpan, segmentDetails, segmentTitle, stepTitle } from '../../web/src/timeline/describe.ts';
import { fullRange, listRows, longestSegments, mainSteps, readPath } from '../../web/src/timeline/model.ts';
import { anyAgent, tool } from '../support/adversary.ts';
import { createWorld } from '../support/world.ts';

/** A lead that calls tools and two children, of which `slow` has a child itself. */
async function playTree(): Promise<Timeline> {
  const clock = createHandClock();
  const delegate = (...labels: string[]) => ({
    tool: 'delegate',
    args: { tasks: labels.map((label) => ({ task: `do ${label}`, agent: 'any', label })) },
  });
  const work = tool('work', ({ n = 0 }) => new Promise((resolve) => clock.at(clock.monotonic() + n, () => resolve({ output: 'ok' }))));
  const broken = tool('broken', async () => ({ output: 'no such thing', isError: true }));
  const runs = [
    {
      when: { label: 'lead' },
      steps: [
        { delayMs: 100, calls: [{ tool: 'work', args: { n: 40 } }, { tool: 'work', args: { n: 20 } }, { tool: 'broken' }] },
        { delayMs: 50, calls: [delegate('quick', 'slow')] },
        { delayMs: 10, text: 'done', usage: { input: 1200, output: 34 } },
      ],
    },
    { when: { label: 'quick' }, steps: [{ delayMs: 20, text: 'ok' }] },
    {
      when: { label: 'slow' },
      steps: [
        { delayMs: 30, calls: [delegate('deep')] },
        { delayMs: 5, text: 'ok' },
      ],
    },
    { when: { label: 'deep' }, steps: [{ delayMs: 2000, text: 'ok' }] },
  ];
  const world = await createWorld({ clock, script: { runs }, agents: [anyAgent], tools: [work, broken], limits: { maxDepth: 3 } });
  const run = await world.runtime.start({ task: 'lead', agent: 'any', label: 'lead' });
  await clock.advance(5000);
  await run.outcome;
  await world[Symbol.asyncDispose]();
  const timeline = createTimeline();
  for (const fact of world.facts) applyToTimeline(timeline, fact);
  return timeline;
}

const timeline = await playTree();
const root = timeline.lanes.get(timeline.roots[0] as string) as Lane;
const moment = { now: timeline.lastAt, isDriven: true, lastAt: timeline.lastAt };
const path = readPath(timeline, root.id, moment);
const names = (rows: Lane[]) => rows.map(({ name }) => name);

it('lists all runs in tree order, or only those of the critical path and above them', () => {
  const rows = (more: object) => names(listRows(timeline, { folded: new Set(), isPathOnly: false, path, ...more }));
  expect(rows({})).toEqual(['lead', 'quick', 'slow', 'deep']);
  expect(rows({ folded: new Set([root.children[1]]) })).toEqual(['lead', 'quick', 'slow']);
  expect(rows({ isPathOnly: true })).toEqual(['lead', 'slow', 'deep']);
});

it('knows the whole time, and where it went', () => {
  const { from, to } = fullRange(root, moment);
  expect(to - from).toBe(2235);
  expect(path.sums).toMatchObject({ model: 2195, tool: 40, children: 0 });
  expect(mainSteps(path.steps).map((step) => `${timeline.lanes.get(step.runId)?.name}: ${stepTitle(step)}`)).toEqual([
    'lead: Model, turn 1',
    'lead: work',
    'lead: Model, turn 2',
    'slow: Model, turn 1',
    'deep: Model, turn 1',
  ]);
});

it('finds the longest segments, without waiting for children', () => {
  expect(longestSegments(timeline, moment, 2).map(({ lane, segment }) => [lane.name, segment.to - segment.from])).toEqual([
    ['deep', 2000],
    ['lead', 100],
  ]);
  expect(longestSegments(timeline, moment, 100).every(({ segment }) => segment.kind !== 'children')).toBe(true);
});

it('says what a segment and a bar are', () => {
  const segments = laneSegments(root, moment);
  expect(segments.map(segmentTitle)).toEqual([
    'Model, turn 1',
    '3 tool calls: 2 × work, broken',
    'Model, turn 2',
    'Waiting for children',
    'Model, turn 3',
  ]);
  const [, tools, , , last] = segments;
  expect(tools && segmentDetails(tools)).toEqual(['work · 40ms', 'work · 20ms', 'broken · 0ms, error']);
  expect(last && segmentDetails(last)).toEqual(['script/main', '1.2k tokens in, 34 out']);
  expect(describeBar(root, sumByKind(segments), 200)).toBe(
    'model 160ms, tools 40ms, waiting for children 2.0s, 1 failure, 200ms on the critical path',
  );
});

it.each([
  [0, '0ms'],
  [999, '999ms'],
  [1000, '1.0s'],
  [1540, '1.5s'],
  [9999, '9.9s'],
  [10_000, '10s'],
  [65_000, '1m05s'],
])('formats %d ms as %s', (ms, text) => {
  expect(formatSpan(ms)).toBe(text);
});
