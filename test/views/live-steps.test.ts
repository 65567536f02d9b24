// The steps of a real flow as rows of its tree, as items of its conversation, and in its timeline.
import { expect, it } from 'vitest';
import { defineFlow } from '../../src/main/flow.ts';
import { createMemoryStore, createRetinue } from '../../src/main/index.ts';
import { applyToConversation, type CallItem, createConversation } from '../../src/views/conversation.ts';
import { applyEvent, createLiveState } from '../../src/views/live-state.ts';
import { applyToTimeline, createTimeline, type Lane, laneSegments } from '../../src/views/timeline.ts';
import { listRows, toggleFold } from '../../src/views/tree-rows.ts';
import { segmentTitle } from '../../web/src/timeline/describe.ts';
import { anyModel } from '../flows/support.ts';

const flow = defineFlow('everything', null, async (flow) => {
  flow.log('begin');
  await flow.step('first', () => 1);
  await flow.delegate({ task: 'x', label: 'child' });
  await flow.step('break', () => Promise.reject(new Error('no network'))).catch(() => null);
  await flow.ask('Go on?', { timeoutMs: 1 });
  await flow.delegate({ task: 'x', label: 'nobody', agent: 'none' }).catch(() => null);
  return 'done';
});

it('shows every step of a flow with its name and state, delegations as their runs', async () => {
  await using retinue = createRetinue({ model: anyModel({ text: 'fine' }), store: createMemoryStore() });
  const run = await retinue.flow(flow, null);
  await run.outcome;
  const state = createLiveState();
  const conversation = createConversation();
  const seen: string[][] = [];
  const rows = (filter = '', folded: string[] = []) =>
    listRows({ state, undriven: new Set(), unloaded: new Set() }, { folded: new Set(folded), filter, showEnded: true });
  for (const fact of await retinue.api.logs(run.id, { tree: true })) {
    if (!('data' in fact)) continue;
    applyEvent(state, fact);
    if (fact.runId === run.id) applyToConversation(conversation, fact);
    seen.push(rows().map((row) => `${row.run.name} ${row.status}`));
  }
  expect(rows().map(({ run: row, status, depth, opens }) => [depth, row.agent, row.name, status, opens === run.id])).toEqual([
    [0, null, 'everything', 'completed', true],
    [1, 'step', 'first', 'completed', true],
    [1, 'general', 'child', 'completed', false],
    [1, 'step', 'break', 'failed', true],
    [1, 'ask', 'Go on?', 'failed', true],
    [1, 'delegate', 'nobody', 'failed', true],
  ]);
  expect(seen).toContainEqual(['everything running', 'first running']);
  expect(seen.some((names) => names.includes('Go on? waiting'))).toBe(true);
  // Ids of rows are unique, and a filter and a fold count steps.
  expect(new Set(rows().map(({ run: row }) => row.id)).size).toBe(6);
  expect(rows('break').map(({ run: row }) => row.name)).toEqual(['everything', 'break']);
  expect(rows('', [run.id])).toMatchObject([{ hidden: 5, fold: 'folded' }]);
  const calls = conversation.items.filter((item): item is CallItem => item.kind === 'call');
  expect(calls.map(({ tool, status, output, children }) => [tool, status, output, children.length])).toEqual([
    ['step', 'ok', '1', 0],
    ['delegate', 'ok', '', 1],
    ['step', 'error', 'Error: no network', 0],
    ['ask', 'denied', expect.stringContaining('no answer in time'), 0],
    ['delegate', 'error', expect.stringContaining('unknown agent'), 0],
  ]);
  expect(conversation.items[0]).toMatchObject({ kind: 'log', text: 'begin' });
});

it('shows completed steps that follow each other as one row that unfolds, and what open steps wait for', async () => {
  const long = defineFlow('long', null, async (flow) => {
    for (let i = 1; i <= 5; i++) await flow.step(`part ${i}`, () => i);
    await flow.step('break', () => Promise.reject(new Error('no network'))).catch(() => null);
    await flow.step('after', () => 1);
    await flow.all([flow.sleep(3_600_000), flow.ask('Publish?', { timeoutMs: 3_600_000 })]);
  });
  await using retinue = createRetinue({ model: anyModel({ text: 'fine' }), store: createMemoryStore() });
  const run = await retinue.flow(long, null);
  const logs = async () => (await retinue.api.logs(run.id, { tree: true })).filter((fact) => 'data' in fact);
  await expect.poll(async () => (await logs()).some(({ type }) => type === 'approval.asked')).toBe(true);
  const state = createLiveState();
  for (const fact of await logs()) applyEvent(state, fact);
  const folded = new Set<string>();
  const rows = (filter = '') => listRows({ state, undriven: new Set(), unloaded: new Set() }, { folded, filter, showEnded: true });
  const texts = (filter?: string) =>
    rows(filter).map(({ run: row, depth, fold, place }) => `${depth} ${fold} ${row.name} ${row.status} ${place.at}/${place.of}`);
  expect(texts()).toEqual([
    '0 open long waiting 1/1',
    '1 folded 5 steps completed 1/5',
    '1 none break failed 2/5',
    '1 none after completed 3/5',
    '1 none sleep 1h00m waiting 4/5',
    '1 none Publish? waiting 5/5',
  ]);
  const activities = rows().map(({ run: row }) => row.activity);
  expect(activities[0]).toBe('asks: Publish?');
  expect(activities[4]).toMatch(/^until (\d{4}-\d\d-\d\d )?\d\d:\d\d UTC · .*live-steps\.test\.ts:\d+/);
  expect(activities[5]).toMatch(/^waits for an answer · /);
  // Found by a filter, each step is a row.
  expect(texts('part 3')).toEqual(['0 open long waiting 1/1', '1 none part 3 completed 1/1']);

  const group = rows()[1]?.run.id as string;
  toggleFold(folded, group);
  expect(texts().slice(1, 4)).toEqual(['1 open 5 steps completed 1/5', '2 none part 1 completed 1/5', '2 none part 2 completed 2/5']);
  expect(rows()[2]?.run.parentId).toBe(group);
  expect(new Set(rows().map(({ run: row }) => row.id)).size).toBe(11);
  toggleFold(folded, group);
  expect(texts()).toHaveLength(6);
  await retinue.api.cancel([run.id], 'the test is over');
  await run.outcome;
});

it('shows steps, questions and sleeps of a flow in its timeline', async () => {
  const release = defineFlow('release', null, async (flow) => {
    await flow.step('build', () => new Promise((done) => setTimeout(done, 30, 1)));
    await flow.step('upload', () => Promise.reject(new Error('no network'))).catch(() => null);
    await flow.sleep(40);
    await flow.ask('Publish?', { timeoutMs: 40 });
  });
  await using retinue = createRetinue({ model: anyModel({ text: 'fine' }), store: createMemoryStore() });
  const run = await retinue.flow(release, null);
  await run.outcome;
  const timeline = createTimeline();
  for (const fact of await retinue.api.logs(run.id, { tree: true })) if ('data' in fact) applyToTimeline(timeline, fact);
  const lane = timeline.lanes.get(run.id) as Lane;
  const titles = laneSegments(lane, { now: timeline.lastAt, isDriven: false, lastAt: timeline.lastAt }).map(segmentTitle);
  for (const title of ['step build', 'Idle: sleep 40ms', 'Waiting for an answer: Publish?']) expect(titles).toContain(title);
  expect(lane.marks).toMatchObject([{ kind: 'failure', text: 'step upload: no network' }]);
});
