// Few connections: those of the pool of a store, and those of the server. Nothing may wait for a connection while it holds one that others need.
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openPostgresStore } from '../../src/stores/postgres/create.ts';
import { testAuthenticator } from '../stores/support/authenticator.ts';
import { createPlace } from '../stores/support/postgres.ts';
import { createGateClock } from '../support/gate-clock.ts';
import { startPostgresServer } from '../support/postgres/server.ts';
import { enqueue, expectAllEnded, openTestApi, startTestWorker } from './support.ts';

/** A call that waits for a connection which it holds itself rejects. */
const timing = { giveUp: 4_000, connect: 20_000 };

describe('a store with one connection in its pool', () => {
  it('queues, takes and drives trees without waiting for itself', { timeout: 180_000 }, async () => {
    const place = await createPlace();
    const store = await place.open({ poolSize: 1, timing });
    const api = await openTestApi(store);
    const rootIds = await Promise.all(Array.from({ length: 20 }, () => enqueue(api)));
    const { count } = await startTestWorker({ store, concurrency: 8 });
    const more = await Promise.all(Array.from({ length: 20 }, () => enqueue(api)));
    await expectAllEnded(store, [...rootIds, ...more]);
    expect(count('problem')).toBe(0);
    expect(count('tree.taken')).toBe(40);
  });

  it('queues first, as the first process of a database', { timeout: 120_000 }, async () => {
    const place = await createPlace();
    const first = await place.open({ poolSize: 1, timing });
    const second = await place.open({ poolSize: 1, timing });
    const [a, b] = [await openTestApi(first), await openTestApi(second)];
    // The second one has started its queue before the queue `q` exists.
    await second.queue?.take({ queue: 'other', limit: 1 });
    await enqueue(a);
    await enqueue(b);
    expect(await first.queue?.states()).toMatchObject([{ name: 'q', waiting: 2 }]);
  });
});

describe('a server without free connections', () => {
  it('keeps the leases of its workers, and they continue when connections are free again', { timeout: 180_000 }, async () => {
    const server = await startPostgresServer({ settings: ['max_connections=14', 'superuser_reserved_connections=0', 'max_wal_senders=0'] });
    onTestFinished(() => server.remove());
    const open = async () => {
      const store = await openPostgresStore({
        ...{ url: server.url(), authenticator: testAuthenticator, poolSize: 3 },
        timing: { giveUp: 2_000, heartbeat: 200, silence: 30_000, restartGrace: 0 },
      });
      onTestFinished(() => store.close());
      return store;
    };
    const store = await open();
    const api = await openTestApi(store);
    const scriptClock = createGateClock();
    const { worker, count } = await startTestWorker({
      store,
      script: { runs: [{ times: 'any', steps: [{ calls: [{ tool: 'list', args: { path: '.' } }], delayMs: 1 }, { text: 'done' }] }] },
      scriptClock,
    });
    const rootIds = await Promise.all(Array.from({ length: 4 }, () => enqueue(api)));
    await expect.poll(() => count('tree.taken'), { timeout: 60_000 }).toBe(4);
    const observer = await open();
    const all = await takeAllConnections(server.url());
    // The worker has a connection of its own for heartbeats. Without it, it would lose its trees when the lease is over.
    const readBeats = async () =>
      ((await all[0]?.query('SELECT id, beat FROM retinue.owners ORDER BY id'))?.rows ?? []) as { id: string; beat: Date }[];
    for (let n = 0; n < 20; n++) {
      const before = await readBeats();
      expect(before.length).toBeGreaterThan(0);
      await expect.poll(async () => (await readBeats()).filter(({ beat }, i) => beat <= (before[i]?.beat as Date))).toEqual([]);
      const holders = await observer.holders(rootIds).catch(() => null);
      if (holders !== null) expect([...holders.values()]).toEqual(rootIds.map(() => expect.objectContaining({ alive: true })));
    }
    await Promise.all(all.map((client) => client.end()));
    scriptClock.open();
    await expectAllEnded(store, rootIds);
    expect(count('tree.lost')).toBe(0);
    await expect.poll(() => worker.status().isReady).toBe(true);
  });
});

async function takeAllConnections(url: string): Promise<pg.Client[]> {
  const clients: pg.Client[] = [];
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
    } catch {
      return clients;
    }
    clients.push(client);
  }
}
