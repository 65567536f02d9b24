// A process at a database that does what it is told: one JSON array [call, ...words] a line in, one JSON value a line out.

import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import type { Order } from '../../../src/contract/order.ts';
import type { Owner, Store } from '../../../src/ports/store.ts';
import { openSqliteStore } from '../../../src/stores/sqlite/create.ts';
import { type Migration, migrate, migrations } from '../../../src/stores/sqlite/migrations.ts';
import { createDatabase } from '../../../src/stores/sqlite/new-database.ts';
import { runId, unit } from './units.ts';

const [path = '', options = '{}'] = process.argv.slice(2);
let store: Store;
let owner: Owner;
let lock: DatabaseSync;
let rings = 0;

const calls: Record<string, (...words: never[]) => unknown> = {
  connect: async () => {
    store = await openSqliteStore({ path, ...JSON.parse(options) });
  },
  open: async () => {
    owner = await store.open();
    return owner;
  },
  claim: (rootId: string) => store.claim(owner, rootId),
  append: (rootId: string, run: string, from: number, to: number) => store.append(owner, [unit(rootId, run, from, to)]),
  order: (order: Order) => store.order(order),
  watch: () => void store.watch(() => rings++),
  rings: () => rings,
  /** Appends to runs of its own: how many of its appends were not taken, and the longest that one of them took. */
  write: async (first: number, runs: number, appends: number) => {
    let refused = 0;
    for (let turn = 0; turn < appends; turn++) {
      for (let n = first; n < first + runs; n++) {
        const [result] = await store.append(owner, [unit(runId(n), runId(n), 2 * turn + 1, 2 * turn + 2)]);
        if (result?.ok !== true) refused++;
      }
    }
    return refused;
  },
  /** Takes the write lock and keeps it. */
  lock: () => {
    lock = new DatabaseSync(path, { timeout: 5_000 });
    lock.exec('BEGIN IMMEDIATE');
  },
  sql: (text: string) => {
    lock = new DatabaseSync(path, { timeout: 5_000 });
    lock.exec(text);
  },
  /** Makes the database, and is killed while doing so. */
  create: () =>
    createDatabase(path, {
      steps: [
        (db) => {
          db.exec('CREATE TABLE half (x)');
          process.kill(process.pid, 'SIGKILL');
        },
      ],
    }),
  /** Brings the database to a version that fails after its first half: by a signal, or by an error. */
  migrate: (how: 'SIGKILL' | 'error') => {
    lock = new DatabaseSync(path, { timeout: 5_000 });
    const half: Migration = (db) => {
      db.exec('CREATE TABLE half (x)');
      if (how === 'error') throw new Error('broken step');
      process.kill(process.pid, how);
    };
    migrate(lock, path, { steps: [...migrations, (db) => db.exec('CREATE TABLE whole (x)'), half] });
  },
  unlock: () => lock.exec('ROLLBACK'),
  close: () => store.close(),
};

for await (const line of createInterface({ input: process.stdin })) {
  const [call, ...words] = JSON.parse(line) as [string, ...never[]];
  try {
    answer({ value: (await calls[call]?.(...words)) ?? null });
  } catch (error) {
    answer({ error: { code: (error as { code?: string }).code, message: String(error) } });
  }
}

function answer(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
