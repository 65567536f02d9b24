import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, lstatSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { RetinueError } from '../../contract/error.ts';
import { applicationId, type MigrateOptions, migrate } from './migrations.ts';
import type { SqliteOptions } from './options.ts';

/**
 * Makes the database beside its place and then gives it its name, so that nobody ever sees half of one. Where another
 * process was faster, its database stays.
 */
export function createDatabase(path: string, { made, ...options }: MigrateOptions & Pick<SqliteOptions, 'made'> = {}): void {
  const directory = dirname(path);
  makeDirectory(directory, path);
  refuseLeftover(path);
  const draft = join(directory, `.${basename(path)}.${randomBytes(4).toString('hex')}`);
  try {
    const db = new DatabaseSync(draft);
    try {
      // Before the first page is written: room that is free can then be given back piece by piece.
      db.exec(`PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = ${applicationId}`);
      migrate(db, path, options);
      enableLog(db, path);
    } finally {
      db.close();
    }
    made?.(draft, path);
    place(draft, path);
    sync(directory);
  } finally {
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(draft + end, { force: true });
  }
}

/** Switches to the write-ahead log, which the file system must bear: the answer says whether it does. */
export function enableLog(db: DatabaseSync, path: string): void {
  const mode = db.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
  if (mode === 'wal') return;
  throw new RetinueError(
    'store_io',
    `The database ${path} cannot keep a write-ahead log there (journal mode "${mode}"), as on network file systems. Put it on a local disk.`,
  );
}

function place(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EEXIST') return;
    // File systems without hard links.
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'ENOSYS') throw error;
    renameSync(draft, path);
  }
}

/** A repository could bring a link of this name along, to have the database written somewhere else. */
export function refuseLinked(path: string): void {
  const directory = dirname(path);
  if (basename(directory) !== '.retinue' || !isLink(directory)) return;
  throw new RetinueError('store_io', `${directory} is a link: the database is not kept behind one. Remove it, or name another database.`);
}

/** SQLite would write what is in a journal of this name into the new database, whoever put it there. */
function refuseLeftover(path: string): void {
  const left = `${path}-journal`;
  // Where the database is there by now, the journal is that of the process that was faster.
  if (!existsSync(left) || existsSync(path)) return;
  throw new RetinueError('store_io', `${left} lies there without its database: it may have come with the folder. Move it away.`);
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false; // what is wrong with the path is said when it is opened
  }
}

function makeDirectory(directory: string, path: string): void {
  try {
    if (makeAll(directory) && basename(directory) === '.retinue') writeFileSync(join(directory, '.gitignore'), '*\n');
  } catch (error) {
    const reason = (error as Error).message;
    throw new RetinueError('store_io', `The directory of the database ${path} cannot be made: ${reason}. Name another database.`, {
      retryable: true,
      cause: error,
    });
  }
}

/** True if it was not there. Node's own `recursive` turns for ever in places such as /proc, where nothing can be made. */
function makeAll(directory: string): boolean {
  if (existsSync(directory)) return false;
  const parent = dirname(directory);
  if (parent !== directory) makeAll(parent);
  try {
    mkdirSync(directory);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Makes the new name itself last through a loss of power. */
function sync(directory: string): void {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } catch {
    // Not every file system can do this for a directory.
  } finally {
    closeSync(handle);
  }
}
