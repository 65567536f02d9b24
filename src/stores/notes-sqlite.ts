import type { Memory, ScratchpadEntry } from '../ports/notes.ts';
import { hasWords, type Notes } from './notes-memory.ts';
import { connect, placeOf } from './sqlite/connect.ts';
import { closedError, storeError } from './sqlite/errors.ts';
import { defaultTiming, type Timing } from './sqlite/options.ts';
import { patiently } from './sqlite/retry.ts';
import { createWriter } from './sqlite/writer.ts';

/*
 * Notes are no facts: they outlive runs and are never replayed. They have tables of their own in the database of the store, made where
 * they are missing; `user_version` counts the store's own and is left alone. A later form of these tables gets other names.
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

export interface NotesOptions {
  /** The database file of the store. */
  path: string;
  durability?: 'normal' | 'full';
  timing?: Partial<Timing>;
}

/** Opens the notes in a database that several processes may share. Rejects with `store_*`. */
export async function openNotes(options: NotesOptions): Promise<Notes & { close(): Promise<void> }> {
  const path = placeOf(options.path);
  const timing = { ...defaultTiming, ...options.timing };
  const db = await connect(path, options.durability ?? 'normal', timing);
  const writer = createWriter(db, path, timing);
  let closed = false;
  try {
    const have = await patiently(
      () => db.prepare("SELECT count(*) AS n FROM sqlite_master WHERE name LIKE 'notes@_%' ESCAPE '@' AND sql NOT NULL").get(),
      timing.giveUp,
    );
    if (Number(have?.n) < 3) await writer.write(() => db.exec(tables));
  } catch (error) {
    writer.close();
    db.close();
    throw storeError(error, path);
  }
  const statements = {
    forget: db.prepare('DELETE FROM notes_memories WHERE workspace = ? AND title = ?'),
    put: db.prepare('INSERT INTO notes_memories (workspace, title, text, at) VALUES (?, ?, ?, ?)'),
    list: db.prepare('SELECT title, text, at FROM notes_memories WHERE workspace = ? ORDER BY n DESC'),
    append: db.prepare('INSERT INTO notes_scratch (root, run, text, at) VALUES (?, ?, ?, ?)'),
    remove: db.prepare('DELETE FROM notes_scratch WHERE root = ?'),
    read: db.prepare('SELECT run AS runId, text, at FROM notes_scratch WHERE root = ? ORDER BY n'),
  };

  async function read<T>(query: () => T): Promise<T> {
    if (closed) throw closedError();
    try {
      return await patiently(query, timing.giveUp);
    } catch (error) {
      throw storeError(error, path);
    }
  }

  return {
    memories: {
      put: (workspace, { title, text, at }) =>
        writer.write(() => {
          statements.forget.run(workspace, title);
          statements.put.run(workspace, title, text, at);
        }),
      async list(workspace, words) {
        const rows = await read(() => statements.list.all(workspace));
        return rows.map((row) => ({ ...row }) as unknown as Memory).filter(hasWords(words));
      },
      remove: (workspace, title) => writer.write(() => Number(statements.forget.run(workspace, title).changes) > 0),
    },
    scratchpads: {
      append: (rootId, { runId, text, at }) => writer.write(() => void statements.append.run(rootId, runId, text, at)),
      async read(rootId) {
        const rows = await read(() => statements.read.all(rootId));
        return rows.map((row) => ({ ...row }) as unknown as ScratchpadEntry);
      },
      remove: (rootId) =>
        writer.write(() => {
          db.exec('PRAGMA secure_delete = ON');
          statements.remove.run(rootId);
        }),
    },
    async close() {
      if (closed) return;
      closed = true;
      writer.close();
      db.close();
    },
  };
}
