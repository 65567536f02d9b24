// Looks at a database for `doctor`: does it open, can it be written, and who is in the way. Changes nothing in it.
import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { existing, isOlder, oldestSqlite, placeOf } from './connect.ts';
import { isBusy, storeError } from './errors.ts';
import { inspect } from './inspect.ts';
import { migrations } from './migrations.ts';

export type DatabaseSight =
  | { state: 'absent' }
  | { state: 'open' }
  /** Somebody holds the write lock; the processes that do, where the platform tells. */
  | { state: 'locked'; holders: { pid: number; command: string | null }[] }
  | { state: 'broken'; reason: string };

/** The byte of the wal-index that whoever writes has locked (WAL_WRITE_LOCK of SQLite's wal.c). */
const writeLockByte = 120;

export function sqliteVersion(): { version: string; wanted: string; tooOld: boolean } {
  const db = new DatabaseSync(':memory:');
  const version = String(db.prepare('SELECT sqlite_version() AS version').get()?.version);
  db.close();
  return { version, wanted: oldestSqlite, tooOld: isOlder(version, oldestSqlite) };
}

export function probeDatabase(given: string): DatabaseSight {
  const path = placeOf(given);
  try {
    if (inspect(path, migrations.length) === 'absent') return { state: 'absent' };
    return attempt(path);
  } catch (error) {
    return { state: 'broken', reason: storeError(error, path).message };
  }
}

function attempt(path: string): DatabaseSight {
  const db = new DatabaseSync(existing(path), { timeout: 20 });
  try {
    db.exec('BEGIN IMMEDIATE');
    db.exec('ROLLBACK');
    return { state: 'open' };
  } catch (error) {
    if (!isBusy(error)) throw error;
    return { state: 'locked', holders: lockHolders(path) };
  } finally {
    db.close();
  }
}

/** From Linux's list of file locks; empty elsewhere, and where the lock was given back meanwhile. */
function lockHolders(path: string): { pid: number; command: string | null }[] {
  try {
    const { ino } = statSync(`${path}-shm`);
    return parseLocks(readFileSync('/proc/locks', 'utf8'), ino).map((pid) => ({ pid, command: commandOf(pid) }));
  } catch {
    return [];
  }
}

/** Lines read `1: POSIX  ADVISORY  WRITE 4711 fd:01:12345 120 120`. */
export function parseLocks(text: string, inode: number): number[] {
  const pids = new Set<number>();
  for (const line of text.split('\n')) {
    const parts = /^\d+: \S+\s+\S+\s+WRITE\s+(\d+)\s+[0-9a-f]+:[0-9a-f]+:(\d+)\s+(\d+)\s+(\d+|EOF)$/.exec(line.trim());
    if (parts === null || Number(parts[2]) !== inode) continue;
    const [from, to] = [Number(parts[3]), parts[4] === 'EOF' ? Number.POSITIVE_INFINITY : Number(parts[4])];
    if (from <= writeLockByte && writeLockByte <= to && Number(parts[1]) > 0) pids.add(Number(parts[1]));
  }
  return [...pids];
}

/** The program's name alone: what else stands on its command line is nobody's business. */
function commandOf(pid: number): string | null {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`));
  } catch {
    return null;
  }
}
