// A process that uses a database on command. Input: one JSON array [call, ...arguments] per line. Output: one JSON value per line.

import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import type { Order } from '../../../src/contract/order.ts';
import type { Owner, Store } from '../../../src/ports/store.ts';
import { openPostgresStore } from '../../../src/stores/postgres/create.ts';
import { isDatabaseUrl } from '../../../src/stores/postgres/url.ts';
import { openSqliteStore } from '../../../src/stores/sqlite/create.ts';
import { type Migration, migrate, migrations } from '../../../src/stores/sqlite/migrations.ts';
import { createDatabase } from '../../../src/stores/sqlite/new-database.ts';
import { testAuthenticator } from './authenticator.ts';
import { migrateServer } from './migrate-server.ts';
import { createRunId, createUnit } from './units.ts';

const [path = '', options = '{}'] = process.argv.slice(2);
let store: Store;
let owner: Owner;
let lock: DatabaseSync;
let wakeUps = 0;

const calls: Record<string, (...args: never[]) => unknown> = {
  connect: async () => {
    const given = { authenticator: testAuthenticator, ...JSON.parse(options) };
    store = isDatabaseUrl(path) ? await openPostgresStore({ url: path, ...given }) : await openSqliteStore({ path, ...given });
  },
  open: async () => {
    owner = await store.open();
    return owner;
  },
  claim: (rootId: string) => store.claim(owner, rootId),
  append: (rootId: string, run: string, from: number, to: number) => store.append(owner, [createUnit(rootId, run, from, to)]),
  order: (order: Order) => store.order(order),
  /** As if the clock of its machine were wrong. */
  skewClock: (ms: number) => {
    const now = Date.now;
    Date.now = () => now() + ms;
  },
  watch: () => void store.watch(() => wakeUps++),
  wakeUps: () => wakeUps,
  /** Appends to runs of its own. Returns how many appends were refused. */
  write: async (first: number, runs: number, appends: number) => {
    let refused = 0;
    for (let turn = 0; turn < appends; turn++) {
      for (let n = first; n < first + runs; n++) {
        const [result] = await store.append(owner, [createUnit(createRunId(n), createRunId(n), 2 * turn + 1, 2 * turn + 2)]);
        if (result?.ok !== true) refused++;
      }
    }
    return refused;
  },
  /** Takes the write lock and holds it. */
  lock: () => {
    lock = new DatabaseSync(path, { timeout: 5_000 });
    lock.exec('BEGIN IMMEDIATE');
  },
  sql: (text: string) => {
    lock = new DatabaseSync(path, { timeout: 5_000 });
    lock.exec(text);
  },
  /** Starts to create the database and is killed in the middle. */
  create: () =>
    createDatabase(path, {
      steps: [
        (db) => {
          db.exec('CREATE TABLE half (x)');
          process.kill(process.pid, 'SIGKILL');
        },
      ],
    }),
  /** Runs a migration whose last step fails in the middle: by a signal or an error. */
  migrate: (how: 'SIGKILL' | 'error') => {
    lock = new DatabaseSync(path, { timeout: 5_000 });
    const half: Migration = (db) => {
      db.exec('CREATE TABLE half (x)');
      if (how === 'error') throw new Error('broken step');
      process.kill(process.pid, how);
    };
    migrate(lock, path, { steps: [...migrations, (db) => db.exec('CREATE TABLE whole (x)'), half] });
  },
  /** Migrates a PostgreSQL database and is killed in the middle of a step. */
  migrateServer: async (how: 'SIGKILL' | 'error' | 'complete') => migrateServer(path, JSON.parse(options).schema, how),
  unlock: () => lock.exec('ROLLBACK'),
  close: () => store.close(),
};

for await (const line of createInterface({ input: process.stdin })) {
  const [call, ...args] = JSON.parse(line) as [string, ...never[]];
  try {
    answer({ value: (await calls[call]?.(...args)) ?? null });
  } catch (error) {
    answer({ error: { code: (error as { code?: string }).code, message: String(error) } });
  }
}

function answer(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
