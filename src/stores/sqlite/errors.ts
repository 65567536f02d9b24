import { isRetinueError, RetinueError } from '../../contract/error.ts';

// Primary result codes of SQLite: https://www.sqlite.org/rescode.html
const sqlite = { busy: 5, locked: 6, readonly: 8, ioerr: 10, corrupt: 11, full: 13, cantopen: 14, protocol: 15, notadb: 26 };

/** The primary result code of an error that SQLite raised; null for any other error. */
export function sqliteCode(error: unknown): number | null {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  return code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number' ? errcode & 0xff : null;
}

/** Whether another connection was in the way, so that trying again may help. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === sqlite.busy || code === sqlite.locked || code === sqlite.protocol;
}

export function isNoDatabase(error: unknown): boolean {
  return sqliteCode(error) === sqlite.notadb;
}

export function isDamage(error: unknown): boolean {
  return sqliteCode(error) === sqlite.corrupt;
}

export function closedError(): RetinueError {
  return new RetinueError('store_io', 'The store is closed.');
}

/** Turns whatever a call on the database threw into the error that the port promises. */
export function storeError(error: unknown, path: string): RetinueError {
  if (isRetinueError(error)) return error;
  const code = sqliteCode(error);
  const reason = error instanceof Error ? error.message : String(error);
  const io = (advice: string, retryable: boolean) =>
    new RetinueError('store_io', `The database ${path} failed: ${reason}. ${advice}`, { retryable, cause: error });
  if (code === null) {
    const closed = (error as { code?: unknown }).code === 'ERR_INVALID_STATE';
    return closed ? closedError() : new RetinueError('internal', `A call on the database ${path} failed: ${reason}`, { cause: error });
  }
  switch (code) {
    case sqlite.busy:
    case sqlite.locked:
    case sqlite.protocol:
      return new RetinueError('store_busy', `The database ${path} stayed locked by another process.`, { retryable: true, cause: error });
    case sqlite.corrupt:
    case sqlite.notadb:
      return new RetinueError('store_corrupt', `The database ${path} is damaged: ${reason}.`, { cause: error });
    case sqlite.full:
      return io('Make room on the disk.', true);
    case sqlite.readonly:
      return io('Make the file and its directory writable.', true);
    case sqlite.cantopen:
      return io('Check that the file and its directory are there and writable.', true);
    case sqlite.ioerr:
      return io('Check the disk.', true);
    default:
      return io('This is not expected.', false);
  }
}
