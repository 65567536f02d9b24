// Erasing in the file: blobs of a database of an earlier version, and the space that the file system gets back.
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { applicationId, migrate, migrations } from '../../src/stores/sqlite/migrations.ts';
import { createTemporaryDirectory } from './support/temporary.ts';
import { createRunId, createUnit } from './support/units.ts';

const at = '2026-01-02T03:04:05.678Z';
const hash = (n: number) => String(n).repeat(64);
const roots = ['a'.repeat(16), 'b'.repeat(16)];
let directory: ReturnType<typeof createTemporaryDirectory>;
beforeEach(() => {
  directory = createTemporaryDirectory();
});
afterEach(() => directory.remove());

/** Two ended trees in the tables of version 1. The first uses the blobs 1 and 2, and 4 as an artifact; the second uses 2 and 3. */
function createOldDatabase(): void {
  const db = new DatabaseSync(directory.db);
  db.exec(`PRAGMA application_id = ${applicationId}`);
  migrate(db, directory.db, { steps: migrations.slice(0, 1) });
  db.exec('PRAGMA journal_mode = WAL');
  roots.forEach((root, i) => {
    const row = JSON.stringify({ runId: root, parentId: null, rootId: root, status: 'completed', idempotencyKey: null, lastSeq: 3 });
    db.prepare('INSERT INTO trees (n, root) VALUES (?, ?)').run(i + 1, root);
    db.prepare('INSERT INTO runs (n, id, tree, live, seq, row) VALUES (?, ?, ?, 0, 3, ?)').run(i + 1, root, i + 1, row);
    const started = JSON.stringify({ system: hash(i + 1), tools: hash(i + 2), history: null, model: hash(3) });
    const artifact = JSON.stringify({ blob: i === 0 ? hash(4) : null });
    const facts = [
      ['run.started', started],
      ['artifact.recorded', artifact],
      ['message.received', JSON.stringify({ text: 'x'.repeat(200_000) })],
    ];
    facts.forEach(([type, data], n) => {
      db.prepare('INSERT INTO facts (run, seq, tree, at, v, type, data, hash) VALUES (?, ?, ?, ?, 1, ?, ?, ?)').run(
        i + 1,
        n + 1,
        i + 1,
        at,
        type as string,
        data as string,
        hash(9),
      );
    });
  });
  for (const n of [1, 2, 3, 4]) db.prepare('INSERT INTO blobs VALUES (?, ?)').run(hash(n), `text ${n}`);
  db.close();
}

it('removes blobs with the last tree that uses them, and shrinks the file once no process drives runs', async () => {
  createOldDatabase();
  const size = statSync(directory.db).size;
  const store = await openSqliteStore({ path: directory.db });
  const other = await openSqliteStore({ path: directory.db });
  const findBlobs = async () => (await Promise.all([1, 2, 3, 4].map((n) => store.blob(hash(n))))).map((text) => text !== null);
  const owner = await other.open();
  expect(await store.erase(roots[0] as string, at)).toMatchObject({ ok: true, facts: 3 });
  expect(await findBlobs()).toEqual([false, true, true, false]);
  await store.reclaim(200_000);
  const db = new DatabaseSync(directory.db);
  expect(db.prepare('PRAGMA auto_vacuum').get()).toEqual({ auto_vacuum: 0 });
  db.close();
  await other.release(owner);
  await store.erase(roots[1] as string, at);
  expect(await findBlobs()).toEqual([false, false, false, false]);
  await store.reclaim(200_000);
  expect(await store.trail(roots[1] as string)).toHaveLength(3);
  await other.close();
  await store.close();
  expect(statSync(directory.db).size).toBeLessThan(size / 3);
});

describe('space of erased facts', () => {
  /** One ended tree of many small facts: erasing them leaves pages half empty, but hardly a free one. */
  async function createEnded(): Promise<{ store: Store; bytes: number }> {
    const store = await openSqliteStore({ path: directory.db });
    const owner = await store.open();
    const root = createRunId(1);
    const unit = createUnit(root, root, 1, 5_000);
    await store.append(owner, [{ ...unit, rows: unit.rows.map((row) => ({ ...row, status: 'completed' as const })) }]);
    await store.release(owner);
    await store.close();
    const again = await openSqliteStore({ path: directory.db });
    const erased = await again.erase(root, at);
    if (!erased.ok) throw new Error(erased.reason);
    return { store: again, bytes: erased.bytes };
  }

  it('is returned by rewriting the file if no process drives runs', async () => {
    const { store, bytes } = await createEnded();
    const before = statSync(directory.db).size;
    await store.reclaim(bytes);
    expect(before - statSync(directory.db).size).toBeGreaterThan(bytes / 2);
    expect(statSync(`${directory.db}-wal`).size).toBe(0);
    expect(await store.size()).toBeLessThan(before);
    expect(await store.findFaults()).toEqual([]);
    await store.close();
  });

  it('stays in the file while a process drives runs', async () => {
    const { store, bytes } = await createEnded();
    const other = await openSqliteStore({ path: directory.db });
    await other.open();
    await store.reclaim(bytes);
    using db = new DatabaseSync(directory.db);
    const pages = Number(db.prepare('PRAGMA page_count').get()?.page_count);
    await other.close();
    await store.reclaim(bytes);
    expect(Number(db.prepare('PRAGMA page_count').get()?.page_count)).toBeLessThan(pages);
    await store.close();
  });
});
