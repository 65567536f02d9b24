// The tables of notes and the statements on them (see notes-sqlite.ts).
import type { DatabaseSync } from 'node:sqlite';

/*
 * Notes are not facts: they outlive runs and are never replayed. Their tables are created on demand in the store's database. `user_version`
 * counts only the store's migrations, so a later version of these tables must use other names.
 */
export const notesTables = `
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
const notesTableCount = 3;

export const selectMemories = 'SELECT title, text, at FROM notes_memories WHERE workspace = ? ORDER BY n DESC';

export type NoteStatements = ReturnType<typeof prepareNoteStatements>;

export function prepareNoteStatements(db: DatabaseSync) {
  return {
    deleteMemory: db.prepare('DELETE FROM notes_memories WHERE workspace = ? AND title = ?'),
    insertMemory: db.prepare('INSERT INTO notes_memories (workspace, title, text, at) VALUES (?, ?, ?, ?)'),
    listMemories: db.prepare(selectMemories),
    appendEntry: db.prepare('INSERT INTO notes_scratch (root, run, text, at) VALUES (?, ?, ?, ?)'),
    deleteEntries: db.prepare('DELETE FROM notes_scratch WHERE root = ?'),
    readEntries: db.prepare('SELECT run AS runId, text, at FROM notes_scratch WHERE root = ? ORDER BY n'),
  };
}

/** Whether all of them exist: they are created together. */
export function hasNotesTables(db: DatabaseSync): boolean {
  const found = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name LIKE 'notes@_%' ESCAPE '@' AND sql NOT NULL").get();
  return Number(found?.n) === notesTableCount;
}
