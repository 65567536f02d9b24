// SQLite's errors and their conversion into errors of the store port.
import { isRetinueError, RetinueError } from '../../contract/error.ts';

// Primary result codes of SQLite: https://www.sqlite.org/rescode.html
const sqlite = { busy: 5, locked: 6, readonly: 8, ioerr: 10, corrupt: 11, full: 13, cantopen: 14, protocol: 15, notadb: 26 };

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

export function createClosedError(): RetinueError {
  return new RetinueError('store_io', 'The store is closed.');
}

/** Converts an error of the database into one that the port allows. */
export function toStoreError(error: unknown, path: string): RetinueError {
  if (isRetinueError(error)) return error;
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
    case sqlite.full:
      return ioError('Free some disk space.', true);
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
