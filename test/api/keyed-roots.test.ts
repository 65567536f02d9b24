import { expect, it } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import { createApi } from '../../src/api/create.ts';
import { native } from '../../src/dialects/native.ts';
import { systemClock, systemIds } from '../../src/system/clock.ts';
import { createWorld } from '../support/world.ts';

const script = { runs: [{ times: 'any', steps: [{ text: 'done' }] }] };

it('finds roots by their keys, and lists those with a prefix, newest first and in pages', async () => {
  await using world = await createWorld({ script });
  const api = createApi({
    store: world.store,
    clock: systemClock,
    ids: systemIds,
    catalog: createCatalog(builtInAgents),
    dialect: native,
    runtime: () => Promise.reject(new Error('it drives nothing')),
  });
  const ids: string[] = [];
  for (const idempotencyKey of ['chat:1', 'other:1', 'chat:2', undefined, 'chat:3']) {
    const run = await world.runtime.start({ task: 'say it', ...(idempotencyKey && { idempotencyKey }) });
    ids.push(run.id);
    await run.outcome;
  }
  expect((await api.keyed('chat:2'))?.runId).toBe(ids[2]);
  expect(await api.keyed('chat:9')).toBeNull();
  const first = await api.keyedRoots({ prefix: 'chat:', limit: 2 });
  expect(first.roots.map(({ key, run }) => [key, run.runId, run.status])).toEqual([
    ['chat:3', ids[4], 'completed'],
    ['chat:2', ids[2], 'completed'],
  ]);
  const second = await api.keyedRoots({ prefix: 'chat:', limit: 2, before: first.next as string });
  expect([second.roots.map(({ key }) => key), second.next]).toEqual([['chat:1'], null]);
});
