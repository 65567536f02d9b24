// Connections that are cut at random places: each fact comes exactly once and in order all the same.
import { afterEach, expect, it } from 'vitest';
import type { StreamEvent } from '../../src/api/api.ts';
import { createClient } from '../../src/client/client.ts';
import { createRemoteApi } from '../../src/client/remote-api.ts';
import { createTestServer, tokenOf } from '../server/support.ts';
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts';

const seed = Number(process.env.RETINUE_SEED ?? 20_261_116);
const reconnect = { minMs: 1, maxMs: 2 };
let proxy: CuttingProxy | null = null;
afterEach(async () => {
  await proxy?.close();
  proxy = null;
});

/** Numbers from 0 to 1, the same for each seed. */
function createRandom(state: number): () => number {
  let current = state >>> 0;
  return () => {
    current = (Math.imul(current, 1_664_525) + 1_013_904_223) >>> 0;
    return current / 2 ** 32;
  };
}

// Long texts of several bytes per character: many cuts for each run, and many within a character.
const steps = [{ text: 'é'.repeat(900), calls: [{ tool: 'list', args: { path: '.' } }] }, { text: 'done — ✓ '.repeat(400) }];
const script = { runs: [{ times: 'any', steps }] };

it(`delivers each fact exactly once over 1,000 cuts (seed ${seed})`, { timeout: 240_000 }, async () => {
  await using server = await createTestServer({ script });
  const random = createRandom(seed);
  // Half of the connections end within the first event, so that the same event is begun again and again.
  proxy = await startCuttingProxy(server.server.url, () => 1 + Math.floor(random() * (random() < 0.5 ? 500 : 12_000)));
  const { cuts } = proxy;
  const client = createClient({ url: proxy.url, token: tokenOf('read'), reconnect });
  const stop = new AbortController();
  const seen: StreamEvent[] = [];
  const reading = (async () => {
    for await (const event of client.events({ after: '0', signal: stop.signal })) if (event.type !== 'delta') seen.push(event);
  })();
  // Facts are recorded while connections are cut, until there were enough cuts.
  while (cuts() < 1000) {
    if (server.world.facts.length - seen.length < 40) await (await server.api.start({ task: 'one more' })).outcome;
    else await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const all = await server.world.store.facts({});
  await expect.poll(() => seen.length, { timeout: 60_000 }).toBe(all.length);
  stop.abort();
  await reading;
  expect(seen).toEqual(all);
});

it('gives the outcome of a run although every connection is cut early', async () => {
  await using server = await createTestServer({ script });
  const random = createRandom(seed);
  let connections = 0;
  // An event must fit into some connection.
  proxy = await startCuttingProxy(server.server.url, () => (++connections < 20 ? Math.floor(random() * 9_000) : null));
  const client = createClient({ url: proxy.url, token: tokenOf('start'), reconnect });
  const remote = createRemoteApi(client, { agents: [] });
  const changes: boolean[] = [];
  remote.server?.watchConnection(({ isConnected }) => changes.push(isConnected));
  const types: string[] = [];
  remote.watch(({ type }) => types.push(type));
  const handle = await remote.start({ task: 'one' });
  expect(await handle.outcome).toMatchObject({ status: 'completed' });
  expect(types.filter((type) => type !== 'delta')).toEqual((await server.api.logs(handle.id)).map(({ type }) => type));
  expect(changes.slice(0, 2)).toEqual([false, true]);
  await remote.close();
});
