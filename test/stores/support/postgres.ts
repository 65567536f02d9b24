// PostgreSQL stores for tests, which are closed after the test.
import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { Owner, Store } from '../../../src/ports/store.ts';
import { openPostgresStore } from '../../../src/stores/postgres/create.ts';
import type { PostgresOptions } from '../../../src/stores/postgres/options.ts';
import { createSchema, createTestDatabase, createTestSchema, type TestSchema } from '../../support/postgres/database.ts';
import { createProxy, type ServerProxy } from '../../support/postgres/proxy.ts';
import { testAuthenticator } from './authenticator.ts';

export interface StorePlace extends TestSchema {
  open(options?: Partial<PostgresOptions>): Promise<Store>;
  /** A store with an owner. */
  openOwner(options?: Partial<PostgresOptions>): Promise<{ store: Store; owner: Owner }>;
  /** Takes a lock on a table until `release`. */
  lockTable(table: string, mode: string): Promise<{ release(): Promise<void> }>;
  /** Resolves when some transaction waits for a lock. `$s` is the schema. */
  untilWaiting(condition: string): Promise<void>;
}

/** A new schema, and the ways to open it. */
export async function createPlace(): Promise<StorePlace> {
  const schema = await createTestSchema();
  onTestFinished(() => schema.remove());
  return describePlace(schema);
}

/** A place in a database of its own: as long as a transaction of another test is open in a database, old versions of rows stay in it. */
export async function createPlaceAlone(): Promise<StorePlace> {
  const database = await createTestDatabase();
  onTestFinished(() => database.remove());
  return describePlace(createSchema(database.url));
}

function describePlace(schema: TestSchema): StorePlace {
  const open: StorePlace['open'] = async ({ timing, ...options } = {}) => {
    const store = await openPostgresStore({
      ...{ url: schema.url, schema: schema.schema, authenticator: testAuthenticator },
      timing: { restartGrace: 0, ...timing },
      ...options,
    });
    onTestFinished(() => store.close());
    return store;
  };
  return {
    ...schema,
    open,
    async openOwner(options) {
      const store = await open(options);
      return { store, owner: await store.open() };
    },
    async lockTable(table, mode) {
      const client = new pg.Client({ connectionString: schema.url });
      await client.connect();
      await client.query(`BEGIN; LOCK TABLE ${schema.schema}.${table} IN ${mode} MODE`);
      return { release: () => client.end() };
    },
    async untilWaiting(condition) {
      const find = `SELECT 1 FROM pg_locks WHERE NOT granted AND ${condition}`;
      await expect.poll(async () => (await schema.sql(find)).length, { timeout: 30_000 }).toBeGreaterThan(0);
    },
  };
}

export async function useProxy(url: string): Promise<ServerProxy> {
  const proxy = await createProxy(url);
  onTestFinished(() => proxy.close());
  return proxy;
}
