// Real workers in processes of their own, on a database of their own, and the library in this process to queue trees for them.
import { expect, onTestFinished } from 'vitest';
import { orderKeyPath } from '../../src/config/order-key.ts';
import { createLibrary } from '../../src/library/create.ts';
import type { Retinue } from '../../src/library/types.ts';
import { assembleApi } from '../../src/main/assemble.ts';
import { openPostgresStore } from '../../src/main/postgres.ts';
import type { Store } from '../../src/ports/store.ts';
import { createPlace, type Place, type Running } from '../cli/support-process.ts';
import { createTestDatabase } from '../support/postgres/database.ts';
import { runSql } from '../support/postgres/sql.ts';

export interface ClusterPlace extends Place {
  url: string;
  store: Store;
  library: Retinue;
  sql<Row = Record<string, unknown>>(statement: string, values?: unknown[]): Promise<Row[]>;
}

export interface ClusterPlaceOptions {
  /** A database; without it, a new one of the server that tests share. */
  url?: string;
}

export async function createClusterPlace(script: object, given: ClusterPlaceOptions = {}): Promise<ClusterPlace> {
  const url = given.url ?? (await createDatabase());
  const place = createPlace(script, { RETINUE_DB: url });
  onTestFinished(() => place[Symbol.dispose]());
  const { folder } = place;
  const env = { HOME: folder };
  const store = await openPostgresStore({ url, orderKey: orderKeyPath(env) });
  const library = createLibrary(
    { model: 'script/script.json', workspace: folder, store, rules: ['allow bash'] },
    { assemble: assembleApi, env, cwd: () => folder, warn: () => {} },
  );
  onTestFinished(async () => {
    await library.close();
    await store.close();
  });
  return { ...place, url, store, library, sql: ((statement, values) => runSql(url, statement, values)) as ClusterPlace['sql'] };
}

async function createDatabase(): Promise<string> {
  const database = await createTestDatabase();
  onTestFinished(() => database.remove());
  return database.url;
}

/** Asks workers to stop, and resolves to what they reported. */
export async function stopWorkers(workers: Running[]): Promise<{ code: number | null; events: Record<string, unknown>[] }[]> {
  for (const { process } of workers) process.kill('SIGTERM');
  return Promise.all(
    workers.map(async ({ finished }) => {
      const { code, err } = await finished;
      return { code, events: err.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : [])) };
    }),
  );
}

/** Resolves when each of these workers drives a tree. */
export async function untilDriving({ sql }: Pick<ClusterPlace, 'sql'>, names: string[]): Promise<void> {
  const find = 'SELECT DISTINCT owners.name FROM retinue.trees JOIN retinue.owners ON owners.id = trees.owner ORDER BY name';
  const driving = async () => (await sql<{ name: string }>(find)).map(({ name }) => name);
  await expect.poll(driving, { timeout: 120_000 }).toEqual(names.toSorted());
}
