import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import type { Order } from '../../src/contract/order.ts';
import type { Owner, Store } from '../../src/ports/store.ts';
import { openPostgresStore } from '../../src/stores/postgres/create.ts';
import { runStoreSuite } from '../../src/testing/store-suite.ts';
import { createSchema } from '../support/postgres/database.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres/server.ts';
import { createTestAuthenticator, testAuthenticator } from './support/authenticator.ts';

// A server of its own: a reader of all trees sees what was written only when no earlier transaction is open, also of other tests.
let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgresServer({ settings: ['autovacuum=off'] });
});
afterAll(() => server?.remove());

runStoreSuite(
  'postgres store',
  async () => {
    const { url, schema, sql, remove } = createSchema(server.url());
    const stores: Store[] = [];
    // No heartbeat undoes what `silence` does.
    const timing = { heartbeat: 3_600_000, silence: 60_000, restartGrace: 0 };
    const warnings: string[] = [];

    const updateOwner = async (set: string, owner: Owner) => void (await sql(`UPDATE $s.owners SET ${set} WHERE id = $1`, [owner.id]));
    const insertOrder = async (order: Order, tag: string) =>
      void (await sql('INSERT INTO $s.orders (id, root, text, tag) VALUES ($1, $2, $3, $4)', [
        order.id,
        order.rootId,
        JSON.stringify(order),
        tag,
      ]));

    return {
      open: async () => {
        const warn = (message: string) => void warnings.push(message);
        const store = await openPostgresStore({ url, schema, authenticator: testAuthenticator, warn, timing });
        stores.push(store);
        return store;
      },
      // No process has this id: they end at 2^22.
      kill: (owner) => updateOwner('pid = 99999999', owner),
      silence: (owner) => updateOwner("beat = beat - interval '61 seconds'", owner),
      forge: (order) => insertOrder(order, createTestAuthenticator(2).sign(order)),
      replay: (order) => insertOrder(order, testAuthenticator.sign(order)),
      delayBlobs: async () => {
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        await client.query(`BEGIN; LOCK TABLE ${schema}.blobs IN EXCLUSIVE MODE`);
        const waiting = `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '${schema}.blobs'::regclass`;
        return { isWaiting: async () => (await client.query(waiting)).rows.length > 0, end: () => client.end() };
      },
      warnings: () => warnings,
      dispose: async () => {
        await Promise.all(stores.map((store) => store.close()));
        await remove();
      },
    };
  },
  { hasQueue: true },
);
