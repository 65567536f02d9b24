// Real workers on a real PostgreSQL server, for measurements.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { orderKeyPath } from '../src/config/order-key.ts';
import { createLibrary } from '../src/library/create.ts';
import type { Retinue } from '../src/library/types.ts';
import { assembleApi } from '../src/main/assemble.ts';
import { openPostgresStore } from '../src/main/postgres.ts';
import type { Store } from '../src/ports/store.ts';
import { runSql } from '../test/support/postgres/sql.ts';

export interface BenchCluster {
  url: string;
  store: Store;
  library: Retinue;
  /** Resolves when it takes trees. `url`: another address of the database. */
  startWorker(name: string, options?: { concurrency?: number; url?: string }): Promise<ChildProcess>;
}

const bin = resolve(import.meta.dirname, '../bin/retinue.js');

/** A database, a workspace and a script of its own. Workers that are left at the end are stopped. */
export async function withCluster<T>(serverUrl: string, script: object, use: (cluster: BenchCluster) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-bench-'));
  writeFileSync(join(folder, 'script.json'), JSON.stringify(script));
  const name = `bench_${process.hrtime.bigint()}`;
  await runSql(serverUrl, `CREATE DATABASE ${name} TEMPLATE template0`);
  const url = serverUrl.replace(/\/[^/]*$/, `/${name}`);
  const env = { PATH: process.env.PATH, HOME: folder, RETINUE_MODEL: 'script/script.json' };
  const store = await openPostgresStore({ url, orderKey: orderKeyPath(env) });
  const library = createLibrary(
    { model: 'script/script.json', workspace: folder, store },
    { assemble: assembleApi, env, cwd: () => folder, warn: () => {} },
  );
  const workers = new Set<ChildProcess>();
  async function startWorker(workerName: string, options: { concurrency?: number; url?: string } = {}): Promise<ChildProcess> {
    const args = ['worker', '--name', workerName, '--concurrency', String(options.concurrency ?? 4), '--json'];
    const child = spawn(process.execPath, [bin, ...args], {
      cwd: folder,
      env: { ...env, RETINUE_DB: options.url ?? url },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    workers.add(child);
    child.once('exit', () => workers.delete(child));
    for await (const line of createInterface({ input: child.stderr })) if (line.includes('"started"')) break;
    child.stderr.resume();
    return child;
  }
  try {
    return await use({ url, store, library, startWorker });
  } finally {
    await Promise.all([...workers].map(endWorker));
    await library.close();
    await store.close();
    await runSql(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`);
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function endWorker(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const ended = once(worker, 'exit');
  worker.kill('SIGCONT');
  worker.kill('SIGTERM');
  await ended;
}
