// A server that is restarted, stopped or replaced while stores use it.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Delta } from '../../src/contract/delta.ts';
import type { Store } from '../../src/ports/store.ts';
import { openPostgresStore } from '../../src/stores/postgres/create.ts';
import type { Timing } from '../../src/stores/postgres/options.ts';
import { createOrder } from '../../src/testing/store-suite/fixtures.ts';
import { runSql } from '../support/postgres/database.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres/server.ts';
import { testAuthenticator } from './support/authenticator.ts';
import { createRunId, createUnit } from './support/units.ts';

let server: PostgresServer;
let schemas = 0;
beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server?.remove());

async function open(schema: string, timing: Partial<Timing> = {}): Promise<Store> {
  const store = await openPostgresStore({ url: server.url(), schema, authenticator: testAuthenticator, timing });
  onTestFinished(() => store.close());
  return store;
}

const root = createRunId(1);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe.each(['fast', 'immediate'] as const)('a server that is restarted (%s)', (how) => {
  it('delays appends and reads, but loses and repeats nothing', async () => {
    const schema = `restart_${++schemas}`;
    const store = await open(schema);
    const owner = await store.open();
    await store.append(owner, [createUnit(root, root, 1)]);
    let isDone = false;
    const writing = (async () => {
      let seq = 1;
      while (!isDone || seq < 20) {
        const [result] = await store.append(owner, [createUnit(root, root, ++seq)]);
        if (result?.ok !== true) throw new Error(`refused at ${seq}`);
      }
      return seq;
    })();
    const reading = (async () => {
      let last = 0;
      while (!isDone) {
        const row = await store.run(root);
        expect(row?.lastSeq).toBeGreaterThanOrEqual(last);
        last = row?.lastSeq ?? 0;
      }
    })();
    for (let round = 0; round < 3; round++) {
      await server.stop(how);
      await server.start();
      const before = (await store.run(root))?.lastSeq ?? 0;
      await expect.poll(async () => (await store.run(root))?.lastSeq, { timeout: 30_000 }).toBeGreaterThan(before);
    }
    isDone = true;
    const [last] = await Promise.all([writing, reading]);
    expect((await store.trail(root)).map(({ seq }) => seq)).toEqual(upTo(last));
    expect(await store.findFaults()).toEqual([]);
  });

  it('leaves trees with their owners, wake-ups and live pieces with those who wait for them', async () => {
    const schema = `restart_${++schemas}`;
    const [store, other] = [await open(schema, { announce: 200 }), await open(schema, { announce: 200 })];
    const owner = await store.open();
    await store.append(owner, [createUnit(root, root, 1)]);
    let wakeUps = 0;
    let changes = 0;
    const deltas: Delta[] = [];
    store.watch(() => wakeUps++, 'orders');
    other.watch(() => changes++);
    other.subscribe((delta) => deltas.push(delta));
    // Longer ago than a lease lasts: only the time while the server was down does not count.
    await runSql(server.url(), `UPDATE ${schema}.owners SET beat = beat - interval '1 hour'`);
    await server.stop(how);
    await server.start();
    const successor = await other.open();
    expect(await other.claim(successor, root)).toMatchObject({ ok: false, owner: owner.id });
    // Heartbeats go on.
    const beat = `SELECT 1 FROM ${schema}.owners WHERE id = '${owner.id}' AND beat > clock_timestamp() - interval '10 seconds'`;
    await expect.poll(async () => (await runSql(server.url(), beat)).length).toBe(1);
    const [wakeUpsBefore, changesBefore] = [wakeUps, changes];
    await other.order(createOrder(1, root));
    await expect.poll(() => wakeUps).toBeGreaterThan(wakeUpsBefore);
    expect(await store.orders(owner)).toEqual([createOrder(1, root)]);
    await store.append(owner, [createUnit(root, root, 2)]);
    await expect.poll(() => changes).toBeGreaterThan(changesBefore);
    const delta: Delta = { type: 'delta', runId: root, turn: 1, kind: 'text', text: 'x' };
    const publish = () => {
      store.publish(delta);
      return deltas.length;
    };
    await expect.poll(publish).toBeGreaterThan(0);
  });
});

it('closes while the server is down', async () => {
  const store = await open(`restart_${++schemas}`);
  await store.open();
  await server.stop();
  onTestFinished(() => server.start());
  const startedAt = performance.now();
  await store.close();
  expect(performance.now() - startedAt).toBeLessThan(20_000);
  await expect(store.run(root)).rejects.toMatchObject({ code: 'store_io', message: expect.stringContaining('closed') });
});
