// Verify and replay over HTTP: shared, bounded, ended with their clients, and no burden for what runs.
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import type { Api } from '../../src/api/api.ts';
import { createApi } from '../../src/api/create.ts';
import { native } from '../../src/dialects/native.ts';
import { createCheckPool } from '../../src/server/check-pool.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { systemClock, systemIds } from '../../src/system/clock.ts';
import { createId, createRootUnit } from '../../src/testing/store-suite/fixtures.ts';
import { createTestServer, tokenOf } from './support.ts';

const runs = 50;

/** An API with some trees. Their hashes are wrong, which is a result of a check like any other. */
async function createFilledApi(): Promise<Api> {
  const store = createMemoryStore();
  const owner = await store.open();
  for (let n = 1; n <= runs; n++) await store.append(owner, [createRootUnit(createId(n))]);
  return createApi({
    ...{ store, clock: systemClock, ids: systemIds, catalog: createCatalog(builtInAgents), dialect: native },
    runtime: () => Promise.reject(new Error('nothing is run here')),
  });
}

/** Checks that wait until `finish` is called or their signal fires. */
function holdChecks(api: Api) {
  const started: string[] = [];
  const aborted: string[] = [];
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  const hold = async (name: string, signal: AbortSignal | undefined) => {
    started.push(name);
    const left = new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    await Promise.race([finished, left]);
    if (signal?.aborted) aborted.push(name);
    signal?.throwIfAborted();
  };
  const held: Api = {
    ...api,
    async verify(id, options) {
      await hold(`verify ${id}`, options?.signal);
      return api.verify(id);
    },
  };
  return { held, started, aborted, finish };
}

const verify = { body: {}, token: tokenOf('read') };

it('other work goes first between two runs, and a signal ends the check', async () => {
  const api = await createFilledApi();
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const { trees } = await api.verify();
  isOver = true;
  expect(trees).toBe(runs);
  expect(turns).toBeGreaterThanOrEqual(runs);
  const stop = new AbortController();
  const stopped = api.verify(undefined, { signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(stopped).rejects.toThrow('enough');
});

it('requests for the same check share one pass, whatever the token', async () => {
  const { held, started, finish } = holdChecks(await createFilledApi());
  await using server = await createTestServer({ listen: { api: held } });
  const answers = Array.from({ length: 20 }, (_, i) => server.ask('/api/verify', { ...verify, token: tokenOf(i % 2 ? 'read' : 'start') }));
  await expect.poll(() => started).toEqual(['verify undefined']);
  expect((await server.ask('/healthz')).status).toBe(200);
  finish();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(started).toEqual(['verify undefined']);
  await server.ask('/api/verify', verify);
  expect(started).toHaveLength(2);
});

it('one check runs at a time, a few wait, and others are refused', async () => {
  const { held, started, finish } = holdChecks(await createFilledApi());
  await using server = await createTestServer({ listen: { api: held } });
  const answers = Array.from({ length: 10 }, (_, n) => server.ask(`/api/runs/${createId(n + 1)}/verify`, verify));
  await expect.poll(async () => (await server.ask(`/api/runs/${createId(20)}/verify`, verify)).status).toBe(429);
  expect(started).toHaveLength(1);
  finish();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(4);
  expect(statuses.filter((status) => status === 429)).toHaveLength(6);
  expect(started).toHaveLength(4);
});

it('a check ends when its last client has left, and nothing is logged', async () => {
  const { held, started, aborted, finish } = holdChecks(await createFilledApi());
  const lines: string[] = [];
  await using server = await createTestServer({ listen: { api: held, log: (line) => lines.push(line) } });
  const open = () => {
    const headers = { authorization: `Bearer ${tokenOf('read')}`, 'content-type': 'application/json' };
    const sent = request(`${server.server.url}/api/verify`, { method: 'POST', headers, agent: false });
    sent.on('error', () => {});
    sent.end('{}');
    return sent;
  };
  const [first, second] = [open(), open()];
  await expect.poll(() => started).toHaveLength(1);
  first.destroy();
  second.destroy();
  await expect.poll(() => aborted).toEqual(['verify undefined']);
  finish();
  expect((await server.ask('/api/verify', verify)).status).toBe(200);
  expect(lines).toEqual([]);
});

describe('a pool', () => {
  it('continues a pass for those who stay, and begins a new one after all have left', async () => {
    const pool = createCheckPool({ maxRequests: 3 });
    const database = {};
    const [stay, leave] = [new AbortController(), new AbortController()];
    const passes: AbortSignal[] = [];
    const { promise, resolve } = Promise.withResolvers<string>();
    const check = (signal: AbortSignal) => {
      passes.push(signal);
      return promise;
    };
    const [first, second] = [pool.run(database, 'a', check, stay.signal), pool.run(database, 'a', check, leave.signal)];
    second.catch(() => {});
    const third = pool.run(database, 'a', check, stay.signal);
    await expect(pool.run(database, 'a', check, stay.signal)).rejects.toMatchObject({ code: 'too_many_requests' });
    leave.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
    expect(passes.map(({ aborted }) => aborted)).toEqual([false]);
    resolve('result');
    expect(await Promise.all([first, third])).toEqual(['result', 'result']);
    await expect(pool.run(database, 'a', check, leave.signal)).rejects.toThrow('left');
    expect(await pool.run(database, 'a', check, stay.signal)).toBe('result');
    expect(passes).toHaveLength(2);
  });

  it('passes of other databases do not wait', async () => {
    const pool = createCheckPool();
    const { signal } = new AbortController();
    void pool.run({}, 'a', () => new Promise<never>(() => {}), signal);
    expect(await pool.run({}, 'a', async () => 'result', signal)).toBe('result');
  });
});
