// `enqueue` of the library: who can see a queued run, and its outcome.
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createLibrary } from '../../src/library/create.ts';
import { assembleApi } from '../../src/main/assemble.ts';
import { openSqliteStore } from '../../src/main/sqlite.ts';
import { createPlace } from '../cli/support-process.ts';
import { createClusterPlace, stopWorkers } from './support-processes.ts';

it.each(['no store', 'a SQLite store'])('with %s, nothing is queued that no worker could see', async (how) => {
  const place = createPlace({ runs: [] });
  onTestFinished(() => place[Symbol.dispose]());
  const { folder } = place;
  const store = how === 'no store' ? undefined : await openSqliteStore({ path: join(folder, 'runs.db') });
  const retinue = createLibrary(
    { model: 'offline/surveyor', workspace: folder, ...(store && { store }) },
    { assemble: assembleApi, env: { HOME: folder }, cwd: () => folder, warn: () => {} },
  );
  onTestFinished(() => retinue.close());
  await expect(retinue.enqueue({ task: 'go' })).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('pass a store with queues'),
  });
  expect(await retinue.api.ps({ all: true })).toEqual([]);
});

it('the outcome of a queued run is a promise, as that of any run', { timeout: 120_000 }, async () => {
  const place = await createClusterPlace({ runs: [{ times: 'any', steps: [{ text: 'done by a worker' }] }] });
  const run = await place.library.enqueue({ task: 'go' });
  const { outcome } = run;
  const worker = place.start('worker', '--json');
  expect(await outcome).toMatchObject({ runId: run.id, status: 'completed', summary: 'done by a worker' });
  expect(await run.outcome).toBe(await outcome);
  await stopWorkers([worker]);
});
