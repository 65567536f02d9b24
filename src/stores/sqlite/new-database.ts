// Creates a database file.
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, lstatSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { RetinueError } from '../../contract/error.ts';
import { applicationId, type MigrateOptions, migrate } from './migrations.ts';
import type { SqliteOptions } from './options.ts';

/**
 * Creates the database under a temporary name and then gives it its own, so that no process sees an incomplete one. If another process was
 * faster, its database stays.
 */
export function createDatabase(path: string, { made, ...options }: MigrateOptions & Pick<SqliteOptions, 'made'> = {}): void {
  const directory = dirname(path);
  ensureDirectory(directory, path);
  assertNoLeftover(path);
  const draft = join(directory, `.${basename(path)}.${randomBytes(4).toString('hex')}`);
  try {
    // Its log and index get the same mode. It contains conversations.
    closeSync(openSync(draft, 'wx', 0o600));
    const db = new DatabaseSync(draft);
    try {
      // Incremental vacuum can be enabled only before the first page is written. It lets `reclaim` return free space in small steps.
      db.exec(`PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = ${applicationId}`);
      migrate(db, path, options);
      enableWal(db, path);
    } finally {
      db.close();
    }
    made?.(draft, path);
    publish(draft, path);
    syncDirectory(directory);
  } finally {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(draft + suffix, { force: true });
  }
}

/** Switches to a write-ahead log. Throws if the file system does not support one. */
export function enableWal(db: DatabaseSync, path: string): void {
  const mode = db.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
  if (mode === 'wal') return;
  throw new RetinueError(
    'store_io',
    `The database ${path} cannot use a write-ahead log (journal mode is "${mode}"), as is usual on network file systems. Put it on a local disk.`,
  );
}

function publish(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EEXIST') return;
    // The file system has no hard links.
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'ENOSYS') throw error;
    renameSync(draft, path);
  }
}

/** A repository could contain a link named .retinue to have the database written somewhere else. */
export function assertNotLinked(path: string): void {
  const directory = dirname(path);
  if (basename(directory) !== '.retinue' || !isLink(directory)) return;
  throw new RetinueError(
    'store_io',
    `${directory} is a symbolic link, which Retinue does not follow. Remove it, or choose another database.`,
  );
}

/** SQLite would replay a journal with this name into the new database, even one from an untrusted source. */
function assertNoLeftover(path: string): void {
  const journal = `${path}-journal`;
  // If the database exists by now, the journal belongs to the process that was faster.
  if (!existsSync(journal) || existsSync(path)) return;
  throw new RetinueError('store_io', `${journal} exists without its database and may not be yours. Move it away.`);
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false; // opening the database reports problems with the path
  }
}

function ensureDirectory(directory: string, path: string): void {
  try {
    if (createDirectories(directory) && basename(directory) === '.retinue') writeFileSync(join(directory, '.gitignore'), '*\n');
  } catch (error) {
    const reason = (error as Error).message;
    throw new RetinueError(
      'store_io',
      `The directory of the database ${path} cannot be created: ${reason}. Choose another path for the database.`,
      {
        retryable: true,
        cause: error,
      },
    );
  }
}

/** True if the directory was created. Node's `recursive` option loops forever in file systems such as /proc. */
function createDirectories(directory: string): boolean {
  if (existsSync(directory)) return false;
  const parent = dirname(directory);
  if (parent !== directory) createDirectories(parent);
  try {
    mkdirSync(directory, basename(directory) === '.retinue' ? { mode: 0o700 } : {});
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Makes the new name survive a loss of power. */
function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } catch {
    // Not every file system supports this for directories.
  } finally {
    closeSync(handle);
  }
}
