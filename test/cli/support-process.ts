// The real program in real processes, on a real database in a folder of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKeyAuthenticator } from '../../src/config/order-key.ts';
import type { StoredFact } from '../../src/contract/fact.ts';
import type { Order } from '../../src/contract/order.ts';
import type { Store } from '../../src/ports/store.ts';
import { openExistingPostgresStore } from '../../src/stores/postgres/create.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { outputOf } from '../support/output.ts';
import { runSql } from '../support/postgres/sql.ts';

const bin = resolve(import.meta.dirname, '../../bin/retinue.js');

export interface Finished {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

export interface Running {
  process: ChildProcess;
  finished: Promise<Finished>;
  /** Standard output as soon as it satisfies `holds`. Rejects if the process ends before. */
  untilOutput(holds: (out: string) => boolean): Promise<string>;
  /** The same for standard error. */
  untilErrors(holds: (err: string) => boolean): Promise<string>;
}

export interface Place {
  folder: string;
  start(...args: string[]): Running;
  /** `start` with more variables. */
  startWith(variables: Record<string, string>, ...args: string[]): Running;
  run(...args: string[]): Promise<Finished>;
  /** Runs `retinue … --json` until the value satisfies `holds`. */
  until<T>(args: string[], holds: (value: T) => boolean): Promise<T>;
  /** Reads the facts of the database, in this process, until they satisfy `holds`: far sooner and cheaper than a command could. */
  facts(holds: (facts: StoredFact[]) => boolean): Promise<StoredFact[]>;
  /**
   * Waits until `count` orders are in the database and the process of the run has read them. They must wait there: a pause does until the run's
   * next step.
   */
  untilOrdersRead(count?: number): Promise<void>;
  [Symbol.dispose](): void;
}

/** Everything that waits for a place rejects once the place is removed, so that a test that has failed leaves no loop behind. */
export function createPlace(script: object, more: Record<string, string> = {}): Place {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-cli-'));
  writeFileSync(join(folder, 'script.json'), JSON.stringify(script));
  const running = new Set<ChildProcess>();
  let isRemoved = false;

  function refuseRemoved(): void {
    if (isRemoved) throw new Error(`the place ${folder} is removed`);
  }

  /** Null while there is no database. Opening a file that does not exist would create it. */
  async function openStore(): Promise<Store | null> {
    const authenticator = createKeyAuthenticator(join(folder, '.config', 'retinue', 'order-key'));
    const url = more.RETINUE_DB;
    if (url?.startsWith('postgres')) return openExistingPostgresStore({ url, authenticator, poolSize: 1 });
    const path = join(folder, '.retinue', 'retinue.db');
    return existsSync(path) ? openSqliteStore({ path, authenticator }) : null;
  }

  const start = (...args: string[]) => startWith({}, ...args);

  function startWith(variables: Record<string, string>, ...args: string[]): Running {
    refuseRemoved();
    const env = { PATH: process.env.PATH, HOME: folder, RETINUE_MODEL: 'script/script.json', NO_COLOR: '1', ...more, ...variables };
    const child = spawn(process.execPath, [bin, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    const said = outputOf(child);
    const finished = new Promise<Finished>((done, fail) => {
      child.on('error', fail);
      child.on('close', (code, signal) => {
        running.delete(child);
        done({ code, signal, ...said });
      });
    });
    // A caller that waits for it gets the error; without one it must not end the process of the tests.
    finished.catch(() => {});
    const untilSaid = (name: 'out' | 'err', holds: (text: string) => boolean) =>
      new Promise<string>((resolve, reject) => {
        const check = () => holds(said[name]) && resolve(said[name]);
        child[name === 'out' ? 'stdout' : 'stderr'].on('data', check);
        finished.then(({ err }) => reject(new Error(`the process has ended: ${err}`)), reject);
        check();
      });
    return {
      ...{ process: child, finished },
      untilOutput: (holds) => untilSaid('out', holds),
      untilErrors: (holds) => untilSaid('err', holds),
    };
  }

  const run = (...args: string[]) => start(...args).finished;

  return {
    folder,
    start,
    startWith,
    run,
    async until(args, holds) {
      for (;;) {
        const before = databaseState(folder);
        const { out, err } = await run(...args, '--json');
        const value = JSON.parse(out || 'null');
        if (value !== null && holds(value)) return value;
        if (err.includes('internal')) throw new Error(err);
        // Another look is worth a process only when something was written.
        for (let ms = 0; ms < 250 && databaseState(folder) === before; ms += 10) await sleep(10);
      }
    },
    async facts(holds) {
      for (;;) {
        refuseRemoved();
        const found = await readFacts(await openStore());
        if (holds(found)) return found;
        await sleep(10);
      }
    },
    async untilOrdersRead(count = 1) {
      const list = () => readOrders(folder, more.RETINUE_DB);
      let orders = await list();
      for (; orders.length < count; orders = await list()) {
        refuseRemoved();
        await sleep(10);
      }
      // Orders are applied one after the other. This one is the last, has no effect and is dropped.
      const marker = { ...(orders[0] as Order), id: 'marker', kind: 'approve', text: '', at: new Date().toISOString() } as const;
      const store = (await openStore()) as Store;
      await store.order(marker).finally(() => store.close());
      while ((await list()).some(({ id }) => id === marker.id)) {
        refuseRemoved();
        await sleep(10);
      }
    },
    [Symbol.dispose]() {
      isRemoved = true;
      for (const child of running) child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function databaseState(folder: string): string {
  const files = ['retinue.db', 'retinue.db-wal'].map((name) => statSync(join(folder, '.retinue', name), { throwIfNoEntry: false }));
  return files.map((file) => `${file?.size} ${file?.mtimeMs}`).join();
}

async function readFacts(store: Store | null): Promise<StoredFact[]> {
  if (store === null) return [];
  try {
    return await store.facts({});
  } finally {
    await store.close();
  }
}

async function readOrders(folder: string, url: string | undefined): Promise<Order[]> {
  const rows = url?.startsWith('postgres') ? await runSql(url, 'SELECT text FROM retinue.orders ORDER BY n') : readRows(folder);
  return rows.map(({ text }) => JSON.parse(text as string) as Order);
}

function readRows(folder: string): Record<string, unknown>[] {
  using db = new DatabaseSync(join(folder, '.retinue', 'retinue.db'), { timeout: 5_000 });
  return db.prepare('SELECT text FROM orders ORDER BY n').all();
}
