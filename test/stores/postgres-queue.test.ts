// Jobs that pg-boss has and no tree does: after erasing a tree, or made by somebody who can write to the database.
import { expect, it, onTestFinished } from 'vitest';
import type { Job } from '../../src/ports/queue.ts';
import { openPostgresStore } from '../../src/stores/postgres/create.ts';
import { createTestSchema } from '../support/postgres/database.ts';
import { testAuthenticator } from './support/authenticator.ts';

it.each(['completed', 'put back'] as const)('a job without a tree does not come again after it was %s', async (how) => {
  const { url, schema, sql, remove } = await createTestSchema();
  const store = await openPostgresStore({ url, schema, authenticator: testAuthenticator });
  onTestFinished(async () => {
    await store.close();
    await remove();
  });
  const { queue } = store;
  if (!queue) throw new Error('there is no queue');
  expect(await queue.take({ queue: 'q', limit: 1 })).toEqual([]);
  await sql(`INSERT INTO $s_queue.job (name, data, retry_limit) VALUES ('q', '{"root":"0000000000000001"}', 1000)`);
  const [job] = (await queue.take({ queue: 'q', limit: 1 })) as Job[];
  if (!job) throw new Error('nothing was taken');
  if (how === 'completed') await queue.complete(job);
  else await queue.putBack(job, 0);
  expect(await sql('SELECT state FROM $s_queue.job')).toEqual([{ state: 'completed' }]);
});
