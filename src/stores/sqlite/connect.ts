// Opens the database file and sets up the connection.
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { RetinueError } from '../../contract/error.ts';
import { createDiskFullError, isDiskFull, toStoreError } from './errors.ts';
import { assertUsable, inspectDatabase } from './inspect.ts';
import { type MigrationContext, migrate } from './migrations.ts';
import { assertNotLinked, createDatabase, enableWal } from './new-database.ts';
import type { InternalOptions } from './options.ts';
import { retryWhileBusy } from './retry.ts';
import { assertSchema, guardConnection } from './schema.ts';

export const minSqliteVersion = '3.51.3';

/** From this many pages of log on, commits copy them. Only a fallback: normally checkpoint.ts keeps the log shorter. */
const autoCheckpointPages = 4_096;
/** The log file is cut to this size when it starts anew. */
const keptLogBytes = 1_048_576;

export interface ConnectOptions extends MigrationContext {
  durability: 'normal' | 'full';
  timing: InternalOptions;
}

/** Opens the database; creates or migrates it if needed. Rejects with the errors of the port. */
export async function connect(path: string, options: ConnectOptions): Promise<DatabaseSync> {
  assertSqliteVersion();
  const { giveUp } = options.timing;
  try {
    return await retryWhileBusy(() => tryConnect(path, options), giveUp);
  } catch (error) {
    throw toOpenError(error, path);
  }
}

function tryConnect(path: string, { durability, timing, ...context }: ConnectOptions): DatabaseSync {
  if (inspectDatabase(path, 'write') === 'absent') {
    createDatabase(path, { crash: timing.crash, made: timing.made });
    inspectDatabase(path, 'write');
  }
  const db = new DatabaseSync(existingFileUrl(path), { timeout: timing.busy, enableForeignKeyConstraints: false });
  try {
    // Checked again on this connection: another file may have got the name since.
    guardConnection(db);
    assertUsable(db, path);
    assertSchema(db, path, 'write');
    enableWal(db, path);
    timing.logOpened?.(path);
    migrate(db, path, { crash: timing.crash, ...context });
    db.exec(
      `PRAGMA secure_delete = FAST; PRAGMA synchronous = ${durability}; PRAGMA wal_autocheckpoint = ${autoCheckpointPages}; PRAGMA journal_size_limit = ${keptLogBytes}; PRAGMA cache_size = -16000`,
    );
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** A URL that opens an existing file and never creates one. */
export function existingFileUrl(path: string): URL {
  const url = pathToFileURL(path);
  url.search = '?mode=rw';
  return url;
}

/** The real, absolute path: SQLite keeps the write-ahead log next to the file, and the process may change its directory. */
export function resolveDatabasePath(path: string): string {
  if (path === ':memory:') throw new RetinueError('store_io', 'The path :memory: is not a file. Use the memory store instead.');
  assertNotLinked(path);
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

export function toOpenError(error: unknown, path: string): unknown {
  if (isDiskFull(error, path)) return createDiskFullError(error, path);
  if (error instanceof Error && 'syscall' in error) {
    const advice = 'Make its directory writable, or choose another path.';
    return new RetinueError('store_io', `The database ${path} cannot be opened: ${error.message}. ${advice}`, {
      retryable: true,
      cause: error,
    });
  }
  return toStoreError(error, path);
}

export function assertSqliteVersion(): void {
  const db = new DatabaseSync(':memory:');
  const version = String(db.prepare('SELECT sqlite_version() AS version').get()?.version);
  db.close();
  if (isOlderVersion(version, minSqliteVersion)) {
    throw new RetinueError(
      'store_io',
      `SQLite ${version} is too old. Retinue needs ${minSqliteVersion} or later: use Node 24.15 or later.`,
    );
  }
}

/** Compares the parts of the versions as numbers. */
export function isOlderVersion(version: string, than: string): boolean {
  const parts = (text: string) => text.split('.').map(Number);
  const actual = parts(version);
  for (const [index, wanted] of parts(than).entries()) {
    const part = actual[index] ?? 0;
    if (part !== wanted) return part < wanted;
  }
  return false;
}
