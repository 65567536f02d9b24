// The job of a schedule that is due may be taken more than once, and its brief may come from an earlier version.
import { expect, it } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import { createApi } from '../../src/api/create.ts';
import { native } from '../../src/dialects/native.ts';
import type { DueSchedule } from '../../src/ports/queue.ts';
import { systemClock, systemIds } from '../../src/system/clock.ts';
import { enqueueDue } from '../../src/worker/enqueue-due.ts';
import { createWorld } from '../support/world.ts';

async function openApi() {
  const world = await createWorld({ excuses: { ended: 'a worker drives what is queued' } });
  const { store, runtime } = world;
  const catalog = createCatalog(builtInAgents);
  const api = createApi({ store, clock: systemClock, ids: systemIds, catalog, dialect: native, runtime: async () => runtime });
  return { api, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

const due = (brief: object, id = 'job'): DueSchedule => ({
  ...{ id, queue: 'q' },
  schedule: {
    ...{ name: 's', cron: '* * * * *', timezone: 'UTC', queue: 'q', priority: 0, group: null, dialect: null },
    brief: { task: 'go', tools: { allow: [] }, ...brief },
  },
});

it('a job is queued once, also if its brief has become another one', async () => {
  await using opened = await openApi();
  const { api } = opened;
  const { runId, isNew } = await enqueueDue(due({}), api);
  expect(isNew).toBe(true);
  for (const brief of [{}, { checks: [{ agent: 'review', task: 'x' }] }, { task: 'another' }])
    expect(await enqueueDue(due(brief), api)).toEqual({ runId, isNew: false });
  expect(await enqueueDue(due({}, 'next job'), api)).toMatchObject({ isNew: true });
});

it.each([
  ['', null],
  [' \n', null],
  ['nightly', 'nightly'],
])('the label %j is recorded as %j', async (label, recorded) => {
  await using opened = await openApi();
  const { api } = opened;
  const { runId } = await enqueueDue(due({ label }), api);
  expect((await api.ps({ all: true })).map((run) => [run.runId, run.label])).toEqual([[runId, recorded]]);
});

it('another problem is not hidden', async () => {
  await using opened = await openApi();
  await expect(enqueueDue(due({ agent: 'nobody' }), opened.api)).rejects.toMatchObject({ code: 'unknown_agent' });
  await expect(enqueueDue(due({ label: 5 }), opened.api)).rejects.toMatchObject({ code: 'invalid_brief' });
});
