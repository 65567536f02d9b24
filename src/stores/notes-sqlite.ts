// Memories and scratchpads in the SQLite database of the store.
import type { Memory, ScratchpadEntry } from '../ports/notes.ts';
import { createWordFilter, type Notes } from './notes-memory.ts';
import { connect, resolveDatabasePath } from './sqlite/connect.ts';
import { createClosedError, toStoreError } from './sqlite/errors.ts';
import { defaultTiming, type Timing } from './sqlite/options.ts';
import { retryWhileBusy } from './sqlite/retry.ts';
import { createWriter } from './sqlite/writer.ts';

/*
 * Notes are not facts: they outlive runs and are never replayed. Their tables are created on demand in the store's database. `user_version`
 * counts only the store's migrations, so a later version of these tables must use other names.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS notes_memories (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    at TEXT NOT NULL,
    UNIQUE (workspace, title)
  );
  CREATE TABLE IF NOT EXISTS notes_scratch (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    root TEXT NOT NULL,
    run TEXT NOT NULL,
    text TEXT NOT NULL,
    at TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS notes_scratch_root ON notes_scratch (root, n);
`;

/** The two tables and the index above. */
const tableCount = 3;

export interface NotesOptions {
  /** The database file of the store. */
  path: string;
  durability?: 'normal' | 'full';
  timing?: Partial<Timing>;
}

/** Opens the notes in a database that several processes may share. Rejects with `store_*`. */
export async function openNotes(options: NotesOptions): Promise<Notes & { close(): Promise<void> }> {
  const path = resolveDatabasePath(options.path);
  const timing = { ...defaultTiming, ...options.timing };
  const db = await connect(path, options.durability ?? 'normal', timing);
  const writer = createWriter(db, path, timing);
  let isClosed = false;
  try {
    const found = await retryWhileBusy(
      () => db.prepare("SELECT count(*) AS n FROM sqlite_master WHERE name LIKE 'notes@_%' ESCAPE '@' AND sql NOT NULL").get(),
      timing.giveUp,
    );
    if (Number(found?.n) < tableCount) await writer.write(() => db.exec(tables));
  } catch (error) {
    writer.close();
    db.close();
    throw toStoreError(error, path);
  }
  const statements = {
    deleteMemory: db.prepare('DELETE FROM notes_memories WHERE workspace = ? AND title = ?'),
    insertMemory: db.prepare('INSERT INTO notes_memories (workspace, title, text, at) VALUES (?, ?, ?, ?)'),
    listMemories: db.prepare('SELECT title, text, at FROM notes_memories WHERE workspace = ? ORDER BY n DESC'),
    appendEntry: db.prepare('INSERT INTO notes_scratch (root, run, text, at) VALUES (?, ?, ?, ?)'),
    deleteEntries: db.prepare('DELETE FROM notes_scratch WHERE root = ?'),
    readEntries: db.prepare('SELECT run AS runId, text, at FROM notes_scratch WHERE root = ? ORDER BY n'),
  };

  async function read<T>(query: () => T): Promise<T> {
    if (isClosed) throw createClosedError();
    try {
      return await retryWhileBusy(query, timing.giveUp);
    } catch (error) {
      throw toStoreError(error, path);
    }
  }

  return {
    memories: {
      put: (workspace, { title, text, at }) =>
        writer.write(() => {
          statements.deleteMemory.run(workspace, title);
          statements.insertMemory.run(workspace, title, text, at);
        }),
      async list(workspace, words) {
        const rows = await read(() => statements.listMemories.all(workspace));
        return rows.map((row) => ({ ...row }) as unknown as Memory).filter(createWordFilter(words));
      },
      remove: (workspace, title) => writer.write(() => Number(statements.deleteMemory.run(workspace, title).changes) > 0),
    },
    scratchpads: {
      append: (rootId, { runId, text, at }) => writer.write(() => void statements.appendEntry.run(rootId, runId, text, at)),
      async read(rootId) {
        const rows = await read(() => statements.readEntries.all(rootId));
        return rows.map((row) => ({ ...row }) as unknown as ScratchpadEntry);
      },
      remove: (rootId) =>
        writer.write(() => {
          db.exec('PRAGMA secure_delete = ON');
          statements.deleteEntries.run(rootId);
        }),
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      writer.close();
      db.close();
    },
  };
}
