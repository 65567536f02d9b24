// Checks a database for `retinue doctor`: whether it opens, whether it can be written, and which process locks it. Changes nothing.
import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { existingFileUrl, isOlderVersion, minSqliteVersion, resolveDatabasePath } from './connect.ts';
import { isBusy, toStoreError } from './errors.ts';
import { inspectDatabase } from './inspect.ts';
import { openReadConnection } from './read-connection.ts';

export type DatabaseState =
  | { state: 'absent' }
  | { state: 'open' }
  /** It can be read but not written; `reason` says why. */
  | { state: 'readable'; reason: string }
  /** A process holds the write lock. `holders` is empty if the platform does not tell which. */
  | { state: 'locked'; holders: { pid: number; command: string | null }[] }
  | { state: 'broken'; reason: string };

/** The byte of the wal-index that a writer locks (WAL_WRITE_LOCK in SQLite's wal.c). */
const writeLockByte = 120;

export function getSqliteVersion(): { version: string; wanted: string; tooOld: boolean } {
  const db = new DatabaseSync(':memory:');
  const version = String(db.prepare('SELECT sqlite_version() AS version').get()?.version);
  db.close();
  return { version, wanted: minSqliteVersion, tooOld: isOlderVersion(version, minSqliteVersion) };
}

/** `isOwn`: the user's own database. Others are only read. */
export function probeDatabase(databasePath: string, isOwn: boolean): DatabaseState {
  const path = resolveDatabasePath(databasePath);
  try {
    if (inspectDatabase(path, 'read') === 'absent') return { state: 'absent' };
    openReadConnection(path).close();
  } catch (error) {
    return { state: 'broken', reason: toStoreError(error, path).message };
  }
  if (!isOwn) return { state: 'open' };
  try {
    inspectDatabase(path, 'write');
    return tryWriteLock(path);
  } catch (error) {
    const { code, message } = toStoreError(error, path);
    return { state: code === 'store_corrupt' ? 'broken' : 'readable', reason: message };
  }
}

function tryWriteLock(path: string): DatabaseState {
  const db = new DatabaseSync(existingFileUrl(path), { timeout: 20 });
  try {
    db.exec('BEGIN IMMEDIATE');
    db.exec('ROLLBACK');
    return { state: 'open' };
  } catch (error) {
    if (!isBusy(error)) throw error;
    return { state: 'locked', holders: findLockHolders(path) };
  } finally {
    db.close();
  }
}

/** Reads Linux's list of file locks. Empty on other platforms, and if the lock has been released in the meantime. */
function findLockHolders(path: string): { pid: number; command: string | null }[] {
  try {
    const { ino } = statSync(`${path}-shm`);
    return parseWriteLocks(readFileSync('/proc/locks', 'utf8'), ino).map((pid) => ({ pid, command: readProgramName(pid) }));
  } catch {
    return [];
  }
}

/** Lines look like `1: POSIX  ADVISORY  WRITE 4711 fd:01:12345 120 120`. */
export function parseWriteLocks(text: string, inode: number): number[] {
  const pids = new Set<number>();
  for (const line of text.split('\n')) {
    const parts = /^\d+: \S+\s+\S+\s+WRITE\s+(\d+)\s+[0-9a-f]+:[0-9a-f]+:(\d+)\s+(\d+)\s+(\d+|EOF)$/.exec(line.trim());
    if (parts === null || Number(parts[2]) !== inode) continue;
    const [from, to] = [Number(parts[3]), parts[4] === 'EOF' ? Number.POSITIVE_INFINITY : Number(parts[4])];
    if (from <= writeLockByte && writeLockByte <= to && Number(parts[1]) > 0) pids.add(Number(parts[1]));
  }
  return [...pids];
}

/** Only the name of the program: its arguments may be private. */
function readProgramName(pid: number): string | null {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`));
  } catch {
    return null;
  }
}
