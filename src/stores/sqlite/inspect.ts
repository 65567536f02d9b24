// Looks at a database file before anything may write to it.
//
// The main file is only ever opened through SQLite, never through `fs`: closing a plain descriptor would drop the locks
// that other connections of this process hold on it. SQLite keeps no locks on the write-ahead log, so that one is read directly.
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { RetinueError } from '../../contract/error.ts';
import { isDamage, isNoDatabase } from './errors.ts';
import { applicationId, newerError, userVersion } from './migrations.ts';

/** What is at the path: nothing, or a database of ours in a version that we know. All else throws; no file is changed. */
export function inspect(path: string, known: number): 'absent' | 'ours' {
  const log = sizeOf(`${path}-wal`) ?? 0;
  const size = sizeOf(path);
  if (size === null) {
    if (log > 0) throw corrupt(path, 'is gone, but its write-ahead log is still there');
    return 'absent';
  }
  // New databases appear complete under their name (see new-database.ts), so an empty file is what is left of one.
  if (size === 0) throw corrupt(path, 'is empty. Delete it to begin with a new one');
  assertWritable(path);
  const header = look(path, 'immutable');
  if (header !== 'damaged') assertOurs(path, header, known);
  if (log === 0) {
    if (header === 'damaged') throw corrupt(path, 'is damaged');
    return 'ours';
  }
  if (!isLogHeader(readHead(`${path}-wal`))) {
    throw corrupt(
      path,
      `has a damaged write-ahead log (${path}-wal): what was written last may be lost. Move the log away to go on without it`,
    );
  }
  const whole = look(path, 'shared');
  if (whole === 'damaged') throw corrupt(path, 'is damaged');
  assertOurs(path, whole, known);
  return 'ours';
}

interface Header {
  application: number;
  version: number;
}

/** `immutable` sees the main file alone and leaves no file beside it; `shared` sees what the write-ahead log adds. */
function look(path: string, mode: 'immutable' | 'shared'): Header | 'damaged' {
  const url = pathToFileURL(path);
  url.search = mode === 'immutable' ? '?immutable=1' : '';
  const db = new DatabaseSync(url, { readOnly: true });
  try {
    return { application: Number(db.prepare('PRAGMA application_id').get()?.application_id), version: userVersion(db) };
  } catch (error) {
    if (isNoDatabase(error)) throw corrupt(path, 'is no SQLite database');
    if (isDamage(error)) return 'damaged';
    throw error;
  } finally {
    db.close();
  }
}

function assertOurs(path: string, header: Header, known: number): void {
  if (header.application !== applicationId) throw corrupt(path, 'is no database of Retinue');
  if (header.version > known) throw newerError(path, header.version, known);
  if (header.version < 1) throw corrupt(path, 'has no version');
}

function assertWritable(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw new RetinueError('store_io', `The database ${path} cannot be read and written. Change its rights, or name another database.`, {
      retryable: true,
      cause: error,
    });
  }
}

function sizeOf(path: string): number | null {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) throw new RetinueError('store_io', `${path} is no file. Name another database.`);
  return found?.size ?? null;
}

function readHead(path: string): Buffer {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    // Gone in the meantime: another process has just closed the database well.
    return Buffer.alloc(0);
  }
  try {
    const head = Buffer.alloc(32);
    return head.subarray(0, readSync(file, head));
  } finally {
    closeSync(file);
  }
}

/** Whether these are the 32 bytes that a write-ahead log begins with: SQLite would silently ignore a log with any other. */
export function isLogHeader(head: Buffer): boolean {
  if (head.length === 0) return true;
  if (head.length < 32) return false;
  const magic = head.readUInt32BE(0);
  if (magic !== 0x377f0682 && magic !== 0x377f0683) return false;
  const word = (offset: number) => (magic & 1 ? head.readUInt32BE(offset) : head.readUInt32LE(offset));
  let a = 0;
  let b = 0;
  for (let offset = 0; offset < 24; offset += 8) {
    a = (a + word(offset) + b) >>> 0;
    b = (b + word(offset + 4) + a) >>> 0;
  }
  return a === head.readUInt32BE(24) && b === head.readUInt32BE(28);
}

function corrupt(path: string, what: string): RetinueError {
  return new RetinueError('store_corrupt', `The database ${path} ${what}.`);
}
