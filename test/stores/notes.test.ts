import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMemoryNotes, type Notes } from '../../src/stores/notes-memory.ts';
import { openNotes } from '../../src/stores/notes-sqlite.ts';
import { openPostgresNotes } from '../../src/stores/postgres/create.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { migrations } from '../../src/stores/sqlite/migrations.ts';
import { createTestSchema } from '../support/postgres/database.ts';
import { createTemporaryDirectory } from './support/temporary.ts';

const at = (n: number): string => new Date(n * 1000).toISOString();

async function openSqliteNotes(): Promise<Notes> {
  const directory = createTemporaryDirectory();
  const notes = await openNotes({ path: directory.db });
  onTestFinished(async () => {
    await notes.close();
    directory.remove();
  });
  return notes;
}

async function openServerNotes(): Promise<Notes> {
  const { url, schema, remove } = await createTestSchema();
  const notes = await openPostgresNotes({ url, schema });
  onTestFinished(async () => {
    await notes?.close();
    await remove();
  });
  return notes as Notes;
}

describe.each([
  { name: 'in memory', open: async () => createMemoryNotes() },
  { name: 'in SQLite', open: openSqliteNotes },
  { name: 'in PostgreSQL', open: openServerNotes },
])('notes $name', ({ open }) => {
  test('memories are listed newest first per workspace, and replaced by title', async () => {
    const { memories } = await open();
    expect(await memories.list('/w')).toEqual([]);
    await memories.put('/w', { title: 'a', text: '1', at: at(1) });
    await memories.put('/w', { title: 'b', text: '2', at: at(2) });
    await memories.put('/other', { title: 'c', text: '3', at: at(3) });
    expect(await memories.list('/w')).toEqual([
      { title: 'b', text: '2', at: at(2) },
      { title: 'a', text: '1', at: at(1) },
    ]);
    await memories.put('/w', { title: 'a', text: 'new', at: at(4) });
    expect((await memories.list('/w')).map(({ title, text }) => title + text)).toEqual(['anew', 'b2']);
  });

  test('memories are found if they contain all words, ignoring case', async () => {
    const { memories } = await open();
    await memories.put('/w', { title: 'Build', text: 'Run MAKE in straße, 100% of "it"', at: at(1) });
    await memories.put('/w', { title: 'Test', text: 'run npm', at: at(2) });
    const found = async (words: string) => (await memories.list('/w', words)).map(({ title }) => title);
    expect(await found('run')).toEqual(['Test', 'Build']);
    expect(await found(' make\tBUILD ')).toEqual(['Build']);
    expect(await found('STRAßE 100% "it"')).toEqual(['Build']);
    expect(await found('run nothing')).toEqual([]);
    expect(await found('%')).toEqual(['Build']);
    expect(await found('  ')).toEqual(['Test', 'Build']);
  });

  test('memories can be removed', async () => {
    const { memories } = await open();
    await memories.put('/w', { title: 'a', text: '1', at: at(1) });
    expect(await memories.remove('/w', 'b')).toBe(false);
    expect(await memories.remove('/other', 'a')).toBe(false);
    expect(await memories.remove('/w', 'a')).toBe(true);
    expect(await memories.list('/w')).toEqual([]);
  });

  test('stored notes do not change with the objects of the caller', async () => {
    const { memories, scratchpads } = await open();
    const memory = { title: 'a', text: '1', at: at(1) };
    await memories.put('/w', memory);
    memory.text = 'changed';
    const [found] = await memories.list('/w');
    if (found) found.text = 'changed';
    expect((await memories.list('/w'))[0]?.text).toBe('1');
    await scratchpads.append('r', { runId: 'x', text: '1', at: at(1) });
    for (const entry of await scratchpads.read('r')) entry.text = 'changed';
    expect((await scratchpads.read('r'))[0]?.text).toBe('1');
  });

  // Invariant 12 of docs/DESIGN.md: siblings share nothing but the scratchpad of their tree.
  test('12: scratchpads keep the order of writing, one for each tree', async () => {
    const { scratchpads } = await open();
    expect(await scratchpads.read('r')).toEqual([]);
    await Promise.all(Array.from({ length: 50 }, (_, n) => scratchpads.append('r', { runId: `run${n % 3}`, text: String(n), at: at(1) })));
    await scratchpads.append('other', { runId: 'x', text: 'y', at: at(2) });
    expect((await scratchpads.read('r')).map(({ text }) => text)).toEqual(Array.from({ length: 50 }, (_, n) => String(n)));
    expect(await scratchpads.read('other')).toEqual([{ runId: 'x', text: 'y', at: at(2) }]);
    await scratchpads.remove('r');
    await scratchpads.remove('r');
    expect([await scratchpads.read('r'), (await scratchpads.read('other')).length]).toEqual([[], 1]);
  });
});

describe('in the database of the store', () => {
  test('notes and store work together, whichever is opened first, and notes do not change the version', async () => {
    const directory = createTemporaryDirectory();
    onTestFinished(() => directory.remove());
    const notes = await openNotes({ path: directory.db });
    const store = await openSqliteStore({ path: directory.db });
    const again = await openNotes({ path: directory.db });
    await notes.memories.put('/w', { title: 'a', text: '1', at: at(1) });
    expect(await again.memories.list('/w')).toHaveLength(1);
    expect(await store.runs({})).toEqual([]);
    await Promise.all([notes.close(), again.close(), store.close()]);
    using db = new DatabaseSync(directory.db);
    expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: migrations.length });
    const later = await openNotes({ path: directory.db });
    expect(await later.memories.list('/w')).toHaveLength(1);
    await later.close();
  });

  test('a lock of another process does not block the event loop', async () => {
    const directory = createTemporaryDirectory();
    onTestFinished(() => directory.remove());
    const notes = await openNotes({ path: directory.db });
    using other = new DatabaseSync(directory.db);
    other.exec('BEGIN IMMEDIATE');
    let ticks = 0;
    const timer = setInterval(() => {
      if (++ticks === 10) other.exec('COMMIT');
    }, 10);
    await notes.scratchpads.append('r', { runId: 'x', text: 'y', at: at(1) });
    clearInterval(timer);
    // SQLite waits at most 20 ms at a time. Had it waited for the lock, no timer would have fired.
    expect(ticks).toBeGreaterThanOrEqual(10);
    expect(await notes.scratchpads.read('r')).toHaveLength(1);
    await notes.close();
  });

  test('calls reject with store_io after closing, and with store_corrupt for a foreign database', async () => {
    const directory = createTemporaryDirectory();
    onTestFinished(() => directory.remove());
    const notes = await openNotes({ path: directory.db });
    await notes.close();
    await notes.close();
    await expect(notes.memories.list('/w')).rejects.toMatchObject({ code: 'store_io' });
    await expect(notes.scratchpads.append('r', { runId: 'x', text: 'y', at: at(1) })).rejects.toMatchObject({ code: 'store_io' });
    using db = new DatabaseSync(`${directory.db}2`);
    db.exec('CREATE TABLE x (y)');
    await expect(openNotes({ path: `${directory.db}2` })).rejects.toMatchObject({ code: 'store_corrupt' });
  });
});
