// Runs whose files a worker cannot provide: they wait for another worker, or for a better moment. Real processes and a real PostgreSQL server.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { RunView } from '../../src/api/api.ts';
import type { StoredFact } from '../../src/contract/fact.ts';
import { createTestDatabase } from '../support/postgres/database.ts';
import { createPlace } from './support-process.ts';

it('puts back a run whose folder it does not share or whose repository it cannot fetch, and says why', { timeout: 180_000 }, async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.remove());
  const place = createPlace({ runs: [{ times: 'any', steps: [{ text: 'done' }] }] }, { RETINUE_DB: database.url });
  onTestFinished(() => place[Symbol.dispose]());
  mkdirSync(join(place.folder, 'elsewhere'));
  const run = async (...args: string[]) => (await place.run('run', '--queue', '--detach', ...args, 'go')).out.trim();
  const folder = await run();
  const remote = await run('--repository', 'http://127.0.0.1:9/nothing.git');
  const first = place.start('worker', '--shared', 'elsewhere', '--json');
  await expect
    .poll(async () => JSON.parse((await place.run('queue', '--json')).out).queues[0], { timeout: 60_000 })
    .toMatchObject({
      ...{ running: 0, delayed: 2, failed: 0 },
      problems: expect.arrayContaining([
        { rootId: folder, problem: expect.stringMatching(/^this worker may not use .*; start it with `--shared .*` to allow that$/) },
        { rootId: remote, problem: expect.stringContaining('http://127.0.0.1:9/nothing.git could not be fetched') },
      ]),
    });
  // Nothing is recorded.
  for (const id of [folder, remote])
    expect((JSON.parse((await place.run('logs', id, '--json')).out) as StoredFact[]).map(({ type }) => type)).toEqual(['run.created']);
  const rows = JSON.parse((await place.run('ps', '--json')).out) as RunView[];
  expect(rows.map(({ status }) => status)).toEqual(['queued', 'queued']);
  first.process.kill('SIGTERM');
  expect(await first.finished).toMatchObject({ code: 0 });
  const second = place.start('worker');
  expect(await place.run('wait', folder)).toMatchObject({ code: 0, out: 'done\n' });
  expect(await place.run('cancel', remote)).toMatchObject({ code: 0 });
  second.process.kill('SIGTERM');
  expect(await second.finished).toMatchObject({ code: 0 });
});
