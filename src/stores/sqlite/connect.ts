import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { RetinueError } from '../../contract/error.ts';
import { storeError } from './errors.ts';
import { inspect } from './inspect.ts';
import { applicationId, migrate, migrations } from './migrations.ts';
import { createDatabase, enableLog, refuseLinked } from './new-database.ts';
import type { Conditions } from './options.ts';
import { patiently } from './retry.ts';

export const oldestSqlite = '3.51.3';

/** Past this many pages of the log a commit copies them itself: only if the checkpointer (see checkpoint.ts) is not there. */
const backstopPages = 16_384;

/** Opens the database at the path, made or brought up to date where needed. Rejects with the errors of the port. */
export async function connect(path: string, durability: 'normal' | 'full', timing: Conditions): Promise<DatabaseSync> {
  assertSqlite();
  try {
    return await patiently(() => attempt(path, durability, timing), timing.giveUp);
  } catch (error) {
    throw openError(error, path);
  }
}

function attempt(path: string, durability: 'normal' | 'full', timing: Conditions): DatabaseSync {
  if (inspect(path, migrations.length) === 'absent') {
    createDatabase(path, { crash: timing.crash, made: timing.made });
    inspect(path, migrations.length);
  }
  const db = new DatabaseSync(existing(path), { timeout: timing.busy, enableForeignKeyConstraints: false });
  try {
    const found = db.prepare('PRAGMA application_id').get()?.application_id;
    if (found !== applicationId) throw new RetinueError('store_corrupt', `The database ${path} was replaced by another file.`);
    migrate(db, path, { crash: timing.crash });
    enableLog(db, path);
    db.exec(
      `PRAGMA secure_delete = FAST; PRAGMA synchronous = ${durability}; PRAGMA wal_autocheckpoint = ${backstopPages}; PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -16000`,
    );
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** An address that opens a file but never makes one. */
export function existing(path: string): URL {
  const url = pathToFileURL(path);
  url.search = '?mode=rw';
  return url;
}

/** Where the file really is, for good: SQLite keeps the write-ahead log beside it, and the process may change its directory. */
export function placeOf(path: string): string {
  if (path === ':memory:') throw new RetinueError('store_io', 'The path :memory: names no file. Use the memory store instead.');
  refuseLinked(path);
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

function openError(error: unknown, path: string): unknown {
  if (error instanceof Error && 'syscall' in error) {
    const advice = 'Make its directory writable, or name another database.';
    return new RetinueError('store_io', `The database ${path} cannot be opened: ${error.message}. ${advice}`, {
      retryable: true,
      cause: error,
    });
  }
  return storeError(error, path);
}

function assertSqlite(): void {
  const db = new DatabaseSync(':memory:');
  const version = String(db.prepare('SELECT sqlite_version() AS version').get()?.version);
  db.close();
  if (isOlder(version, oldestSqlite)) {
    throw new RetinueError('store_io', `SQLite ${version} is too old: ${oldestSqlite} or later is needed. Use Node 24.15 or later.`);
  }
}

/** Compares versions part by part as numbers. */
export function isOlder(version: string, than: string): boolean {
  const parts = (text: string) => text.split('.').map(Number);
  const wanted = parts(than);
  const have = parts(version);
  for (const [index, want] of wanted.entries()) {
    const part = have[index] ?? 0;
    if (part !== want) return part < want;
  }
  return false;
}
