// Schedules that are due, on a real database. The jobs that pg-boss makes when a schedule is due are written here, so that no test waits for a minute.
import { expect, it, onTestFinished } from 'vitest';
import type { Queue, Schedule } from '../../src/ports/queue.ts';
import { openPostgresStore } from '../../src/stores/postgres/create.ts';
import { testAuthenticator } from '../stores/support/authenticator.ts';
import { createTestSchema } from '../support/postgres/database.ts';
import { expectAllEnded, startTestWorker } from './support.ts';

async function openStore() {
  const { url, schema, sql, remove } = await createTestSchema();
  const store = await openPostgresStore({ url, schema, authenticator: testAuthenticator });
  onTestFinished(async () => {
    await store.close();
    await remove();
  });
  const queue = store.queue as Queue;
  const put = (name: string, brief: object, cron = schedule.cron) => queue.putSchedule({ ...schedule, name, brief, cron });
  return {
    ...{ store, queue, sql, put },
    /** As if the schedule had been added long ago. */
    age: () => sql(`UPDATE $s_queue.schedule SET created_on = created_on - interval '1 hour'`),
    makeDue: (name: string) =>
      sql(`INSERT INTO $s_queue.job (name, data, retry_limit) SELECT name, data, 1000 FROM $s_queue.schedule WHERE key = $1`, [name]),
    countOpen: async () =>
      (await sql<{ n: number }>(`SELECT count(*)::int AS n FROM $s_queue.job WHERE name = 'q' AND state < 'completed'`))[0]?.n,
  };
}

const schedule: Omit<Schedule, 'name' | 'brief'> = {
  ...{ cron: '* * * * *', timezone: 'UTC', queue: 'q', priority: 0, group: null, dialect: null },
};
// It needs no files.
const brief = { task: 'go', tools: { allow: [] } };

it('a schedule that cannot be queued is left out, says why, and is well again after the next one', async () => {
  const { store, queue, put, age, makeDue, countOpen } = await openStore();
  await put('broken', { ...brief, agent: 'nobody' });
  await put('fine', brief);
  await age();
  const { count, events } = await startTestWorker({ store });
  await makeDue('broken');
  await makeDue('fine');
  await expect.poll(() => count('schedule.due')).toBe(1);
  await expect
    .poll(async () => (await queue.schedules()).map(({ problem }) => problem?.message ?? null))
    .toEqual([expect.stringContaining('unknown agent `nobody`'), null]);
  expect(events).toContainEqual({ event: 'problem', message: expect.stringContaining('the schedule broken could not be queued') });
  await expectAllEnded(
    store,
    (await store.runs({})).map(({ runId }) => runId),
  );
  expect(await countOpen()).toBe(0);
  await put('broken', brief);
  expect((await queue.schedules())[0]?.problem).toBeNull();
});

it('a problem is forgotten when a run is queued again', async () => {
  const { store, queue, put, age, makeDue } = await openStore();
  await put('a', brief);
  await age();
  await makeDue('a');
  const [due] = await queue.take({ queue: 'q', limit: 1 });
  if (!due || 'rootId' in due) throw new Error('nothing was due');
  await queue.refuse(due, 'no such agent');
  expect(await queue.schedules()).toMatchObject([{ problem: { message: 'no such agent' } }]);
  const { count } = await startTestWorker({ store });
  await makeDue('a');
  await expect.poll(() => count('tree.ended')).toBe(1);
  expect(await queue.schedules()).toMatchObject([{ problem: null }]);
});

it.each(['removed', 'replaced', 'added within the minute'] as const)('a schedule that was %s is not due', async (how) => {
  const { queue, put, age, makeDue, countOpen } = await openStore();
  // The minute of the test must not end here.
  await put('a', brief, how === 'added within the minute' ? '0 0 1 1 *' : schedule.cron);
  if (how !== 'added within the minute') await age();
  await makeDue('a');
  if (how === 'removed') expect(await queue.removeSchedule('a')).toBe(true);
  if (how === 'replaced') await put('a', { ...brief, task: 'something else' });
  expect(await queue.take({ queue: 'q', limit: 5 })).toEqual([]);
  expect(await countOpen()).toBe(0);
});
