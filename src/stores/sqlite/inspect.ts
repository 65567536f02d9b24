// Checks a database file before anything is read from it or written to it.
//
// The main file is opened only through SQLite, never through `fs`: closing a plain file descriptor would release the locks that other connections
// of this process hold on the file. SQLite has no locks on the write-ahead log, so the log is read directly.
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { RetinueError } from '../../contract/error.ts';
import { isCorruption, isNotADatabase } from './errors.ts';
import { applicationId, createNewerError, getUserVersion, migrations } from './migrations.ts';
import { assertSchema, guardConnection } from './schema.ts';

/**
 * Whether the path is free or has a Retinue database of a known version. Everything else throws. No file is changed. For writing, the schema must be
 * exactly that of the version, and the file must be writable.
 */
export function inspectDatabase(path: string, purpose: 'read' | 'write'): 'absent' | 'ours' {
  const logSize = getSize(`${path}-wal`) ?? 0;
  const size = getSize(path);
  if (size === null) {
    if (logSize > 0) throw createCorruptError(path, 'is missing, but its write-ahead log still exists');
    return 'absent';
  }
  // A new database gets its name only when it is complete (see new-database.ts), so an empty file is a damaged one.
  if (size === 0) throw createCorruptError(path, 'is empty. Delete the file to start with a new database');
  assertAccess(path, purpose);
  if (purpose === 'write') assertNoJournal(path);
  const hasLog = logSize > 0;
  const main = checkFile(path, 'immutable', hasLog ? null : purpose);
  if (!hasLog) {
    if (main === 'damaged') throw createCorruptError(path, 'is damaged');
    return 'ours';
  }
  if (!isWalHeader(readLogHead(`${path}-wal`))) {
    throw createCorruptError(
      path,
      `has a damaged write-ahead log (${path}-wal), so the last changes may be lost. Move the log away to continue without them`,
    );
  }
  // A reader checks its own connection: opening another one here could create a file beside the database.
  if (purpose === 'write' && checkFile(path, 'shared', purpose) === 'damaged') throw createCorruptError(path, 'is damaged');
  return 'ours';
}

/** `immutable` reads the main file alone and creates no other file; `shared` includes the write-ahead log. */
export function openReadOnly(path: string, mode: 'immutable' | 'shared'): DatabaseSync {
  const url = pathToFileURL(path);
  url.search = mode === 'immutable' ? '?immutable=1' : '?mode=ro';
  const db = new DatabaseSync(url, { readOnly: true, timeout: 20 });
  try {
    guardConnection(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** `purpose`: whether the schema is checked too. The main file alone may be inconsistent while there is a log. */
function checkFile(path: string, mode: 'immutable' | 'shared', purpose: 'read' | 'write' | null): 'damaged' | 'usable' {
  let db: DatabaseSync | null = null;
  try {
    db = openReadOnly(path, mode);
    assertUsable(db, path);
    if (purpose !== null) assertSchema(db, path, purpose);
    return 'usable';
  } catch (error) {
    if (isNotADatabase(error)) throw createCorruptError(path, 'is not a SQLite database');
    if (isCorruption(error)) return 'damaged';
    throw error;
  } finally {
    db?.close();
  }
}

/** Throws unless this is a Retinue database of a known version. */
export function assertUsable(db: DatabaseSync, path: string): void {
  const application = Number(db.prepare('PRAGMA application_id').get()?.application_id);
  const version = getUserVersion(db);
  if (application !== applicationId) throw createCorruptError(path, 'is not a Retinue database');
  if (version > migrations.length) throw createNewerError(path, version, migrations.length);
  if (version < 1) throw createCorruptError(path, 'has no version');
}

/** Retinue uses a write-ahead log, so a rollback journal is not its own. SQLite would write its content into the database. */
function assertNoJournal(path: string): void {
  const journal = `${path}-journal`;
  if ((getSize(journal) ?? 0) > 0)
    throw new RetinueError('store_io', `${journal} is not a file of Retinue, and SQLite would change the database by it. Move it away.`);
}

function assertAccess(path: string, purpose: 'read' | 'write'): void {
  try {
    accessSync(path, purpose === 'write' ? constants.R_OK | constants.W_OK : constants.R_OK);
  } catch (error) {
    const missing = purpose === 'write' ? 'readable and writable' : 'readable';
    throw new RetinueError('store_io', `The database ${path} is not ${missing}. Change its permissions, or choose another database.`, {
      retryable: true,
      cause: error,
    });
  }
}

function getSize(path: string): number | null {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile())
    throw new RetinueError('store_io', `${path} is not a file. Choose another path for the database.`);
  return found?.size ?? null;
}

function readLogHead(path: string): Buffer {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    // The log has just disappeared: another process has closed the database properly.
    return Buffer.alloc(0);
  }
  try {
    const head = Buffer.alloc(32);
    return head.subarray(0, readSync(file, head));
  } finally {
    closeSync(file);
  }
}

/** Whether these are the first 32 bytes of a valid write-ahead log. SQLite silently ignores a log with an invalid header. */
export function isWalHeader(head: Buffer): boolean {
  if (head.length === 0) return true;
  if (head.length < 32) return false;
  const magic = head.readUInt32BE(0);
  if (magic !== 0x377f0682 && magic !== 0x377f0683) return false;
  const readWord = (offset: number) => (magic & 1 ? head.readUInt32BE(offset) : head.readUInt32LE(offset));
  let a = 0;
  let b = 0;
  for (let offset = 0; offset < 24; offset += 8) {
    a = (a + readWord(offset) + b) >>> 0;
    b = (b + readWord(offset + 4) + a) >>> 0;
  }
  return a === head.readUInt32BE(24) && b === head.readUInt32BE(28);
}

function createCorruptError(path: string, problem: string): RetinueError {
  return new RetinueError('store_corrupt', `The database ${path} ${problem}.`);
}
