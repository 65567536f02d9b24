// Memories and scratchpads in the SQLite database of the store.
import type { Memory, ScratchpadEntry } from '../ports/notes.ts';
import { createWordFilter, type Notes } from './notes-memory.ts';
import { connect, resolveDatabasePath, toOpenError } from './sqlite/connect.ts';
import { createClosedError, toStoreError } from './sqlite/errors.ts';
import { hasNotesTables, type NoteStatements, notesTables, prepareNoteStatements, selectMemories } from './sqlite/notes-tables.ts';
import { defaultTiming, type SqliteOptions } from './sqlite/options.ts';
import { openReadConnection } from './sqlite/read-connection.ts';
import { retryWhileBusy } from './sqlite/retry.ts';
import { createWriter } from './sqlite/writer.ts';

/** `path`: the database file of the store. */
export type NotesOptions = Pick<SqliteOptions, 'path' | 'durability' | 'timing' | 'authenticator' | 'warn' | 'logOpened'>;

/** Lists memories of a database that is only read. Rejects with `store_*`. */
export async function listStoredMemories(databasePath: string, workspace: string, words?: string): Promise<Memory[]> {
  const path = resolveDatabasePath(databasePath);
  try {
    return await retryWhileBusy(() => readMemories(path, workspace), defaultTiming.giveUp).then((all) =>
      all.filter(createWordFilter(words)),
    );
  } catch (error) {
    throw toOpenError(error, path);
  }
}

function readMemories(path: string, workspace: string): Memory[] {
  const { db, close } = openReadConnection(path);
  try {
    if (!hasNotesTables(db)) return [];
    return db
      .prepare(selectMemories)
      .all(workspace)
      .map((row) => ({ ...row }) as unknown as Memory);
  } finally {
    close();
  }
}

/** Opens the notes in a database that several processes may share. Rejects with `store_*`. */
export async function openNotes(options: NotesOptions): Promise<Notes & { close(): Promise<void> }> {
  const path = resolveDatabasePath(options.path);
  const timing = { ...defaultTiming, ...options.timing, logOpened: options.logOpened };
  const { durability = 'normal', authenticator, warn } = options;
  const db = await connect(path, { durability, timing, authenticator, warn });
  const writer = createWriter(db, path, timing);
  let statements: NoteStatements | null = null;
  let isClosed = false;

  /** Null before the first note is written, which creates the tables. */
  function findStatements(): NoteStatements | null {
    if (!hasNotesTables(db)) return null;
    statements ??= prepareNoteStatements(db);
    return statements;
  }

  function createStatements(): NoteStatements {
    if (!hasNotesTables(db)) db.exec(notesTables);
    return findStatements() as NoteStatements;
  }

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
          const { deleteMemory, insertMemory } = createStatements();
          deleteMemory.run(workspace, title);
          insertMemory.run(workspace, title, text, at);
        }),
      async list(workspace, words) {
        const rows = await read(() => findStatements()?.listMemories.all(workspace) ?? []);
        return rows.map((row) => ({ ...row }) as unknown as Memory).filter(createWordFilter(words));
      },
      remove: (workspace, title) => writer.write(() => Number(findStatements()?.deleteMemory.run(workspace, title).changes ?? 0) > 0),
    },
    scratchpads: {
      append: (rootId, { runId, text, at }) => writer.write(() => void createStatements().appendEntry.run(rootId, runId, text, at)),
      async read(rootId) {
        const rows = await read(() => findStatements()?.readEntries.all(rootId) ?? []);
        return rows.map((row) => ({ ...row }) as unknown as ScratchpadEntry);
      },
      remove: (rootId) =>
        writer.write(() => {
          db.exec('PRAGMA secure_delete = ON');
          findStatements()?.deleteEntries.run(rootId);
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
