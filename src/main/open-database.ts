// Opens the database that the settings name: a SQLite file or a PostgreSQL server. The client for a server is loaded only if one is named.
import type { DatabaseTarget } from '../config/database-setting.ts';
import type { Memories } from '../ports/notes.ts';
import type { Store } from '../ports/store.ts';
import type { Notes } from '../stores/notes-memory.ts';
import { type FileOptions, openFile, openFileMemories, openFileNotes } from './open-file.ts';

export type DatabaseOptions = Omit<FileOptions, 'path'> & { db: DatabaseTarget };

/** Rejects with `usage` for a file that is not the user's or an address that does not work, and with `store_*`. */
export async function openDatabase({ db, ...options }: DatabaseOptions): Promise<Store> {
  if (db.kind === 'file') return openFile({ ...options, path: db.path });
  return (await import('./open-server.ts')).openServer({ ...options, url: db.url });
}

/** The notes of a database that `openDatabase` has accepted for writing. */
export async function openDatabaseNotes({ db, ...options }: DatabaseOptions): Promise<Notes & { close(): Promise<void> }> {
  if (db.kind === 'file') return openFileNotes({ ...options, path: db.path });
  return (await import('./open-server.ts')).openServerNotes({ ...options, url: db.url });
}

/** The memories of the database, for `retinue memory`. Rejects like `openDatabase`. */
export async function openDatabaseMemories({ db, ...options }: DatabaseOptions): Promise<Memories & { close(): Promise<void> }> {
  if (db.kind === 'file') return openFileMemories({ ...options, path: db.path });
  return (await import('./open-server.ts')).openServerMemories({ ...options, url: db.url });
}
