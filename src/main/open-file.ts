// Opens the database file of a command or a program: with the user's key for orders, and only for reading if the user did not create it here.
import { existsSync } from 'node:fs';
import { adoptDatabase, createForeignDatabaseError, isOwnDatabase, recordCreatedDatabase, recordLog } from '../config/database-origin.ts';
import { createKeyAuthenticator, createUserAuthenticator } from '../config/order-key.ts';
import type { Env } from '../config/user-folders.ts';
import { isRetinueError, RetinueError } from '../contract/error.ts';
import type { Crash } from '../ports/crash.ts';
import type { Memories } from '../ports/notes.ts';
import type { OrderAuthenticator, Store } from '../ports/store.ts';
import { createMemoryStore } from '../stores/memory.ts';
import { createMemoryNotes, type Notes } from '../stores/notes-memory.ts';
import { listStoredMemories, openNotes } from '../stores/notes-sqlite.ts';
import { openSqliteStore } from '../stores/sqlite/create.ts';
import { openSqliteReader } from '../stores/sqlite/reader.ts';

export interface FileOptions {
  env: Env;
  path: string;
  durability: 'normal' | 'full';
  /** `read` and `write` create no database: without one there are no runs. */
  access: 'read' | 'write' | 'create';
  /** Accept a database that the user did not create here, now and in future, and runs that another program changed. */
  adopt: boolean;
  /** The file of the key for orders. Default: RETINUE_ORDER_KEY, or the one in the user's configuration folder. */
  orderKey?: string | undefined;
  warn(message: string): void;
  crash?: Crash | undefined;
}

/** Rejects with `usage` for a database that is not the user's, and with `store_*`. */
export async function openFile(options: FileOptions): Promise<Store> {
  const { env, path, access, adopt, warn } = options;
  if (!existsSync(path)) return access === 'create' ? openForWriting(options) : createMemoryStore();
  const isOwn = isOwnDatabase(env, path);
  if (access === 'read') return isOwn ? openOwnForReading(options) : openForReading(options);
  if (!isOwn && !adopt) throw createForeignDatabaseError(env, path);
  const store = await openForWriting(options);
  if (!isOwn) recordAdoption(env, path, warn);
  return store;
}

function openForWriting({ env, path, durability, adopt, orderKey, warn, crash }: FileOptions): Promise<Store> {
  const authenticator = createAuthenticator(env, orderKey);
  const made = (draft: string, to: string) => reportUnrecorded(recordCreatedDatabase(env, draft, to), warn);
  return openSqliteStore({ path, durability, authenticator, adopt, warn, crash, made, logOpened: (opened) => recordLog(env, opened) });
}

function openForReading({ env, path, orderKey }: FileOptions, isOwn = false): Promise<Store> {
  return openSqliteReader({ path, authenticator: createAuthenticator(env, orderKey), isOwn });
}

/** Opened for writing if possible, so that an old database is migrated and no log is left behind. */
async function openOwnForReading(options: FileOptions): Promise<Store> {
  try {
    return await openForWriting(options);
  } catch (error) {
    if (!isRetinueError(error) || (error.code !== 'store_io' && error.code !== 'store_corrupt')) throw error;
    const reader = await openForReading(options, true).catch(() => null);
    if (reader === null) throw error;
    if (error.code === 'store_corrupt') options.warn(error.message);
    return reader;
  }
}

function createAuthenticator(env: Env, orderKey: string | undefined): OrderAuthenticator {
  return orderKey === undefined ? createUserAuthenticator(env) : createKeyAuthenticator(orderKey);
}

function recordAdoption(env: Env, path: string, warn: (message: string) => void): void {
  try {
    adoptDatabase(env, path);
  } catch (error) {
    if (!isRetinueError(error)) throw error;
    reportUnrecorded(error.message, warn);
  }
}

function reportUnrecorded(reason: string | null, warn: (message: string) => void): void {
  if (reason !== null) warn(`--adopt will be needed next time, because the database could not be recorded as yours: ${reason}`);
}

/** The notes of a database that `openFile` has accepted for writing. */
export async function openFileNotes(options: FileOptions): Promise<Notes & { close(): Promise<void> }> {
  const { env, path, durability, access, orderKey, warn } = options;
  if (access === 'read') throw new RetinueError('internal', 'the notes were opened only for reading');
  const logOpened = (opened: string) => recordLog(env, opened);
  return openNotes({ path, durability, authenticator: createAuthenticator(env, orderKey), warn, logOpened });
}

/** The memories of the database, for `retinue memory`. Rejects like `openFile`. */
export async function openFileMemories(options: FileOptions): Promise<Memories & { close(): Promise<void> }> {
  const { path, access } = options;
  if (!existsSync(path) && access !== 'create') return { ...createMemoryNotes().memories, close: async () => {} };
  if (access === 'read') {
    // A database that cannot be read is an error of opening.
    await (await openForReading(options)).close();
    const refuse = async () => Promise.reject(new RetinueError('internal', 'the notes were opened only for reading'));
    return { list: (workspace, words) => listStoredMemories(path, workspace, words), put: refuse, remove: refuse, close: async () => {} };
  }
  await (await openFile(options)).close();
  const notes = await openFileNotes(options);
  return { ...notes.memories, close: notes.close };
}
