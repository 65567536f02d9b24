// A tree whose files a worker cannot provide is put back, but not for ever.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { createCheckouts } from '../../src/workspaces/checkouts.ts';
import { settled } from '../support/adversary.ts';
import { enqueue, openTestApi, startTestWorker } from './support.ts';

it('ends with the reason when it is older than an hour and ten attempts have failed', { timeout: 60_000 }, async () => {
  const clock = createHandClock();
  const store = createMemoryStore({ clock });
  const root = mkdtempSync(join(tmpdir(), 'retinue-checkouts-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const checkouts = createCheckouts({ env: { PATH: String(process.env.PATH) }, root, placesRoots: true, shared: [] });
  const rootId = await enqueue(await openTestApi(store, { clock }));
  const worker = await startTestWorker({ store, clock, checkouts });
  const attempts = () => worker.count('tree.put_back', rootId);
  for (let n = 1; n <= 12; n++) {
    await expect.poll(attempts).toBe(n);
    await settled();
    await clock.advance(35_000);
  }
  expect(await store.facts({ runId: rootId })).toHaveLength(1);
  expect(await store.queue?.states()).toMatchObject([{ problems: [{ rootId, problem: expect.stringContaining('--shared') }] }]);
  await clock.advance(3_600_000);
  const ended = async () => {
    await clock.advance(35_000);
    return (await store.facts({ runId: rootId, types: ['run.ended'] })).at(-1);
  };
  await expect.poll(ended).toMatchObject({
    data: { outcome: { status: 'failed', error: { code: 'workspace', message: expect.stringContaining('this worker may not use') } } },
  });
});
