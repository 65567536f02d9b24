// SQLite's errors and their conversion into errors of the store port.
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { isRetinueError, RetinueError } from '../../contract/error.ts';

// Primary result codes of SQLite: https://www.sqlite.org/rescode.html
const sqlite = { busy: 5, locked: 6, readonly: 8, ioerr: 10, corrupt: 11, full: 13, cantopen: 14, protocol: 15, auth: 23, notadb: 26 };
/** With less than this, SQLite cannot even create its small files. */
const minFreeBytes = 65_536;

/** The primary result code of an error that SQLite raised; null for any other error. */
export function getSqliteCode(error: unknown): number | null {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  return code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number' ? errcode & 0xff : null;
}

/** Whether another connection held a lock, so that a retry may help. */
export function isBusy(error: unknown): boolean {
  const code = getSqliteCode(error);
  return code === sqlite.busy || code === sqlite.locked || code === sqlite.protocol;
}

export function isNotADatabase(error: unknown): boolean {
  return getSqliteCode(error) === sqlite.notadb;
}

export function isCorruption(error: unknown): boolean {
  return getSqliteCode(error) === sqlite.corrupt;
}

/** Whether the database cannot be opened or created because it, or its directory, may only be read. */
export function isReadOnly(error: unknown): boolean {
  const code = getSqliteCode(error);
  return code === sqlite.readonly || code === sqlite.cantopen;
}

/** Whether disk space is missing. SQLite reports some of these failures as a general input or output error. */
export function isDiskFull(error: unknown, path: string): boolean {
  const systemCode = findSystemCode(error);
  if (systemCode === 'ENOSPC' || systemCode === 'EDQUOT') return true;
  const code = getSqliteCode(error);
  return code === sqlite.full || ((code === sqlite.ioerr || code === sqlite.cantopen) && hasNoSpace(dirname(path)));
}

export function createDiskFullError(error: unknown, path: string): RetinueError {
  return new RetinueError('store_io', `The disk is full: the database ${path} could not be written. Free some disk space and try again.`, {
    retryable: true,
    cause: error,
  });
}

/** The code of the failed system call, also of one that caused the error. */
function findSystemCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if ('syscall' in error) return String((error as NodeJS.ErrnoException).code);
  return findSystemCode(error.cause);
}

function hasNoSpace(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < minFreeBytes;
  } catch {
    return false;
  }
}

export function createClosedError(): RetinueError {
  return new RetinueError('store_io', 'The store is closed.');
}

/** Converts an error of the database into one that the port allows. */
export function toStoreError(error: unknown, path: string): RetinueError {
  if (isRetinueError(error)) return error;
  if (isDiskFull(error, path)) return createDiskFullError(error, path);
  const code = getSqliteCode(error);
  const reason = error instanceof Error ? error.message : String(error);
  const ioError = (advice: string, retryable: boolean) =>
    new RetinueError('store_io', `The database ${path} failed: ${reason}. ${advice}`, { retryable, cause: error });
  if (code === null) {
    const isClosed = (error as { code?: unknown }).code === 'ERR_INVALID_STATE';
    return isClosed
      ? createClosedError()
      : new RetinueError('internal', `A call on the database ${path} failed: ${reason}`, { cause: error });
  }
  switch (code) {
    case sqlite.busy:
    case sqlite.locked:
    case sqlite.protocol:
      return new RetinueError('store_busy', `The database ${path} is locked by another process. Try again when it has finished.`, {
        retryable: true,
        cause: error,
      });
    case sqlite.corrupt:
    case sqlite.notadb:
      return new RetinueError('store_corrupt', `The database ${path} is damaged: ${reason}. Restore a copy, or choose another database.`, {
        cause: error,
      });
    case sqlite.auth:
      return createHostileError(reason, path, error);
    case sqlite.readonly:
      return ioError('Make the file and its directory writable.', true);
    case sqlite.cantopen:
      return ioError('Check that the file and its directory exist and are writable.', true);
    case sqlite.ioerr:
      return ioError('Check the disk.', true);
    default:
      return ioError('This is an unexpected error.', false);
  }
}

/** The authorizer (see schema.ts) refused a statement. */
function createHostileError(reason: string, path: string, cause: unknown): RetinueError {
  return new RetinueError(
    'store_corrupt',
    `The database ${path} has a trigger or a view that Retinue did not create (${reason}). Nothing was written. Inspect it with \`retinue verify\`, or choose another database.`,
    { cause },
  );
}

export function createNoQueueError(): RetinueError {
  return new RetinueError('usage', 'This database has no queue; use a PostgreSQL database.');
}
