// Opens a database for reading without writing to it or beside it, as far as SQLite allows that.
//
// - Without a write-ahead log no process has the database open, and the file is read as it is (`immutable`). No file is created.
// - With a log, SQLite needs its index (`-shm`). It is used, or created if the folder is writable (`shared`).
// - With a log in a folder that cannot be written and without its index, both files are copied to a private folder.
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { RetinueError } from '../../contract/error.ts';
import { isReadOnly } from './errors.ts';
import { getLogBytes } from './file-size.ts';
import { assertUsable, inspectDatabase, openReadOnly } from './inspect.ts';
import { assertSchema } from './schema.ts';

export interface ReadConnection {
  db: DatabaseSync;
  /** A process has begun to write since, so that the connection must be opened again. */
  isOutdated(): boolean;
  close(): void;
}

/** Throws if the path has no Retinue database of a known version, or one whose tables were changed. */
export function openReadConnection(path: string): ReadConnection {
  if (inspectDatabase(path, 'read') === 'absent') throw new RetinueError('store_io', `The database ${path} does not exist.`);
  const connection = getLogBytes(path) === 0 ? openImmutable(path) : openWithLog(path);
  try {
    assertUsable(connection.db, path);
    assertSchema(connection.db, path, 'read');
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function openImmutable(path: string): ReadConnection {
  const version = describeFile(path);
  const db = openReadOnly(path, 'immutable');
  return { db, isOutdated: () => getLogBytes(path) > 0 || describeFile(path) !== version, close: () => db.close() };
}

/** Differs if a process has written to the file since, even if it has closed it again. */
function describeFile(path: string): string {
  const { ino, size, mtimeNs } = statSync(path, { bigint: true });
  return `${ino} ${size} ${mtimeNs}`;
}

function openWithLog(path: string): ReadConnection {
  const db = openReadOnly(path, 'shared');
  try {
    db.prepare('SELECT 1 FROM sqlite_schema').get();
    return { db, isOutdated: () => false, close: () => db.close() };
  } catch (error) {
    db.close();
    if (!isReadOnly(error) || existsSync(`${path}-shm`)) throw error;
    return openCopy(path);
  }
}

function openCopy(path: string): ReadConnection {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-read-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const copy = join(folder, 'retinue.db');
    for (const suffix of ['', '-wal']) copyFileSync(path + suffix, copy + suffix);
    const db = openReadOnly(copy, 'shared');
    return {
      db,
      isOutdated: () => false,
      close() {
        db.close();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}
