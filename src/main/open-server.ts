// Opens the database of a PostgreSQL server. Only what uses one loads this file.
import { createKeyAuthenticator, createUserAuthenticator } from '../config/order-key.ts';
import type { Env } from '../config/user-folders.ts';
import { RetinueError } from '../contract/error.ts';
import type { Crash } from '../ports/crash.ts';
import type { Memories } from '../ports/notes.ts';
import type { Store } from '../ports/store.ts';
import { createMemoryStore } from '../stores/memory.ts';
import { createMemoryNotes, type Notes } from '../stores/notes-memory.ts';
import { openExistingPostgresStore, openPostgresNotes, openPostgresStore } from '../stores/postgres/create.ts';
import type { PostgresOptions } from '../stores/postgres/options.ts';

export interface ServerOptions extends Pick<PostgresOptions, 'schema' | 'poolSize' | 'name'> {
  env: Env;
  url: string;
  /** `read` and `write` create no tables: without them there are no runs. */
  access: 'read' | 'write' | 'create';
  /** Accept runs that another program changed, and another key for orders. */
  adopt: boolean;
  /** The file of the key for orders. Default: RETINUE_ORDER_KEY, or the one in the user's configuration folder. */
  orderKey?: string | undefined;
  warn(message: string): void;
  crash?: Crash | undefined;
}

/** Rejects with `usage` and `store_*`. */
export async function openServer(options: ServerOptions): Promise<Store> {
  if (options.access === 'create') return openPostgresStore(toStoreOptions(options));
  return (await openExistingPostgresStore(toStoreOptions(options))) ?? createMemoryStore();
}

/** The notes of a database that `openServer` has opened for writing. */
export async function openServerNotes(options: ServerOptions): Promise<Notes & { close(): Promise<void> }> {
  if (options.access === 'read') throw new RetinueError('internal', 'the notes were opened only for reading');
  return (await openPostgresNotes(toStoreOptions(options))) as Notes & { close(): Promise<void> };
}

/** The memories of the database, for `retinue memory`. Without tables there are none, unless they shall be created. */
export async function openServerMemories(options: ServerOptions): Promise<Memories & { close(): Promise<void> }> {
  const access = options.access === 'create' ? 'create' : 'existing';
  const notes = await openPostgresNotes({ ...toStoreOptions(options), access });
  return notes === null ? { ...createMemoryNotes().memories, close: async () => {} } : { ...notes.memories, close: notes.close };
}

function toStoreOptions({ env, orderKey, access: _, ...options }: ServerOptions): PostgresOptions {
  const authenticator = orderKey === undefined ? createUserAuthenticator(env) : createKeyAuthenticator(orderKey);
  return { ...options, env, authenticator };
}
