// A parent that asks for the state of a running child again and again. Its turns are counted, but it is no loop.
import { expect, it } from 'vitest';
import { makeDialect } from '../../src/dialects/index.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { createCall, createCalls, createChildId, openWorld, playScript, rootId, selectFacts, selectResults } from './kernel-support.ts';

const task = { subagent_type: 'general', prompt: 'slow', description: 'd', run_in_background: true };
const cases = {
  ralph: { start: createCall('subagent', { task: 'slow' }), poll: createCall('subagent_status', { subagent_id: createChildId(1) }) },
  openfork: { start: createCall('task', task), poll: createCall('task_status', { id: createChildId(1) }) },
  native: {
    start: createCall('delegate', { tasks: [{ task: 'slow' }], wait_seconds: 0 }),
    poll: createCall('delegate_wait', { ids: [createChildId(1)], seconds: 0 }),
  },
};

const child = { when: { task: 'slow' }, steps: [{ delayMs: 4_000, text: 'at last' }] };

it.each(Object.entries(cases))('%s: 20 equal calls in a row are made, and the child ends by itself', async (name, { start, poll }) => {
  const clock = createHandClock();
  const polls = Array.from({ length: 20 }, () => ({ delayMs: 150, ...createCalls(poll) }));
  const steps = [createCalls(start), ...polls, { delayMs: 2_000, ...createCalls(poll) }, { text: 'ok' }];
  await using world = await openWorld(makeDialect(name), [{ when: { task: 'work' }, steps }, child], { clock });
  const run = await world.runtime.start({ task: 'work' });
  await clock.advance(10_000);
  expect(await run.outcome).toMatchObject({ status: 'completed', summary: 'ok' });
  expect(selectFacts(world, 'tool.asked', rootId).filter(({ data }) => data.rejected !== null)).toEqual([]);
  expect(selectResults(world).map(({ status }) => status)).toEqual(Array(22).fill('ok'));
  expect(selectResults(world).at(-1)?.output).toContain('at last');
});

it.each(Object.entries(cases))('%s: a parent that never stops asking ends at its turn limit', async (name, { start, poll }) => {
  const polls = Array.from({ length: 40 }, () => createCalls(poll));
  const runs = [
    { when: { task: 'work' }, steps: [createCalls(start), ...polls] },
    { when: { task: 'slow' }, steps: [{ hang: 'start' }] },
  ];
  const { outcome } = await playScript(makeDialect(name), runs, {}, { limits: { maxTurns: 12 } });
  expect(outcome).toMatchObject({ status: 'exhausted', terminated: 'max_turns', turns: 12 });
});
