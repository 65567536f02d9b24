// Databases that somebody changed to make Retinue do something: what is in the file never acts, and nothing is written to it.
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Order } from '../../src/contract/order.ts';
import type { Owner, Store } from '../../src/ports/store.ts';
import { openNotes } from '../../src/stores/notes-sqlite.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { openSqliteReader } from '../../src/stores/sqlite/reader.ts';
import { createTestAuthenticator, testAuthenticator } from './support/authenticator.ts';
import { restoreVersion6 } from './support/earlier-tables.ts';
import { createTemporaryDirectory } from './support/temporary.ts';
import { createRunId, createUnit } from './support/units.ts';

const root = createRunId(1);
const at = '2026-01-02T03:04:05.678Z';
const order = (id: string, kind: Order['kind']): Order => ({ id, runId: root, rootId: root, kind, by: 'the user', text: 'x', at });
let directory: ReturnType<typeof createTemporaryDirectory>;
let warnings: string[];
beforeEach(() => {
  directory = createTemporaryDirectory();
  warnings = [];
});
afterEach(() => directory.remove());

const open = (): Promise<Store> =>
  openSqliteStore({ path: directory.db, authenticator: testAuthenticator, warn: (message) => warnings.push(message) });

/** A database with three facts, changed by somebody afterwards. */
async function createChanged(sql: string): Promise<void> {
  const store = await open();
  await store.append(await store.open(), [createUnit(root, root, 1, 3)]);
  await store.close();
  using db = new DatabaseSync(directory.db);
  db.exec(sql);
}

describe('a database with', () => {
  const additions = [
    ['a trigger', 'CREATE TRIGGER evil AFTER INSERT ON facts BEGIN DELETE FROM facts; END', 'the trigger `evil`'],
    ['a view', 'CREATE VIEW evil AS SELECT * FROM facts', 'the view `evil`'],
    ['an index', 'CREATE INDEX evil ON facts (hash)', 'the index `evil`'],
    ['a table', 'CREATE TABLE evil (x)', 'the table `evil`'],
  ] as const;
  const changes = [
    ['a changed notes table', 'CREATE TABLE notes_memories (n, workspace, title, text, at)', 'the table `notes_memories`'],
    ['a missing index', 'DROP INDEX facts_tree', 'the index `facts_tree` is missing'],
    ['a changed table', 'ALTER TABLE runs ADD COLUMN evil', 'the table `runs`'],
    ['a view instead of a table', 'ALTER TABLE owners RENAME TO x; CREATE VIEW owners AS SELECT * FROM x', '`owners`'],
  ] as const;

  it.each([...additions, ...changes])('%s is refused before anything is written', async (_, sql, what) => {
    await createChanged(sql);
    const before = readFileSync(directory.db);
    for (const use of [open, () => openNotes({ path: directory.db })])
      await expect(use()).rejects.toMatchObject({ code: 'store_corrupt', message: expect.stringContaining(what) });
    expect(readFileSync(directory.db).equals(before)).toBe(true);
  });

  it.each(additions)('%s can be read, and its faults are named', async (_, sql, what) => {
    await createChanged(sql);
    const reader = await openSqliteReader({ path: directory.db });
    expect(await reader.facts({})).toHaveLength(3);
    expect(await reader.findFaults()).toContainEqual({ where: 'schema', what: expect.stringContaining(what) });
    await reader.close();
  });

  it('a trigger is also refused if it is only in the write-ahead log', async () => {
    await createChanged('SELECT 1');
    using db = new DatabaseSync(directory.db);
    db.exec('CREATE TRIGGER evil AFTER INSERT ON facts BEGIN DELETE FROM facts; END');
    await expect(open()).rejects.toMatchObject({ code: 'store_corrupt', message: expect.stringContaining('the trigger `evil`') });
  });
});

it('a trigger that is added while a process has the database open does nothing, and the write fails', async () => {
  const store = await open();
  const owner = await store.open();
  await store.append(owner, [createUnit(root, root, 1, 3)]);
  using db = new DatabaseSync(directory.db, { timeout: 5_000 });
  db.exec(`CREATE TRIGGER evil AFTER INSERT ON orders BEGIN DELETE FROM facts; END;
    CREATE TRIGGER evil2 AFTER UPDATE ON runs BEGIN INSERT INTO orders (id, root, text) VALUES ('x', '${root}', '{}'); END`);
  for (const write of [() => store.append(owner, [createUnit(root, root, 4)]), () => store.order(order('o', 'refuse'))])
    await expect(write()).rejects.toMatchObject({ code: 'store_corrupt', message: expect.stringContaining('trigger') });
  expect(db.prepare('SELECT (SELECT count(*) FROM facts) AS facts, (SELECT count(*) FROM orders) AS orders').get()).toEqual({
    facts: 3,
    orders: 0,
  });
  db.exec('DROP TRIGGER evil; DROP TRIGGER evil2');
  expect(await store.append(owner, [createUnit(root, root, 4)])).toEqual([{ ok: true }]);
  await store.close();
});

describe('orders', () => {
  let owner: Owner;
  async function openOwned(): Promise<{ store: Store; list(): Promise<Order[]> }> {
    const store = await open();
    owner = await store.open();
    await store.append(owner, [createUnit(root, root, 1)]);
    return { store, list: () => store.orders(owner) };
  }
  const insert = (id: string, text: string, tag: string) => {
    using db = new DatabaseSync(directory.db, { timeout: 5_000 });
    db.prepare('INSERT INTO orders (id, root, text, tag) VALUES (?, ?, ?, ?)').run(id, root, text, tag);
  };
  const tag = testAuthenticator.sign(order('o', 'refuse'));

  it.each([
    ['without a tag', 'o', order('o', 'approve'), ''],
    ['with the tag of another kind', 'o', order('o', 'approve'), tag],
    ['with the tag of another sender', 'o', { ...order('o', 'refuse'), by: 'somebody' }, tag],
    ['with the tag of another text', 'o', { ...order('o', 'refuse'), text: 'y' }, tag],
    ['under another id', 'p', order('o', 'refuse'), tag],
    ['of another tree', 'o', { ...order('o', 'refuse'), rootId: createRunId(2) }, tag],
    ['with more fields', 'o', { ...order('o', 'refuse'), more: 1 }, tag],
    ['that is no order', 'o', 'text', tag],
  ])('%s are not returned, but reported once and dropped', async (_, id, content, given) => {
    const { store, list } = await openOwned();
    insert(id, JSON.stringify(content), given);
    expect([await list(), await list()]).toEqual([[], []]);
    expect(warnings).toEqual([expect.stringMatching(/^An order in the database was not carried out: order [op] /)]);
    using db = new DatabaseSync(directory.db);
    expect(db.prepare('SELECT count(*) AS n FROM orders').get()).toEqual({ n: 0 });
    await store.close();
  });

  it('with a valid tag are returned, whatever the order of their keys', async () => {
    const { store, list } = await openOwned();
    insert('o', JSON.stringify(order('o', 'refuse')), tag);
    expect(await list()).toEqual([order('o', 'refuse')]);
    await store.close();
  });

  it('that are inserted again are not returned, even if the record of their consumption was removed', async () => {
    const { store, list } = await openOwned();
    await store.order(order('o', 'refuse'));
    const [given] = await list();
    await store.append(owner, [{ ...createUnit(root, root, 2), consumed: ['o'] }]);
    {
      using db = new DatabaseSync(directory.db, { timeout: 5_000 });
      db.exec('DELETE FROM consumed');
    }
    insert('o', JSON.stringify(given), tag);
    expect(await list()).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('order o (refuse for run')]);
    await store.close();
  });

  it('are neither stored nor accepted by a store without a key', async () => {
    const store = await openSqliteStore({ path: directory.db });
    const owner = await store.open();
    await store.append(owner, [createUnit(root, root, 1)]);
    await expect(store.order(order('o', 'cancel'))).rejects.toMatchObject({ code: 'usage' });
    insert('o', JSON.stringify(order('o', 'refuse')), tag);
    expect(await store.orders(owner)).toEqual([]);
    await store.close();
  });

  it('of an earlier version are dropped with a notice when the database is upgraded; cancels are kept', async () => {
    await createChanged(
      `${restoreVersion6()} ALTER TABLE runs DROP COLUMN tag; DROP TABLE consumed; DROP VIEW sub_sessions; ALTER TABLE orders DROP COLUMN tag; PRAGMA user_version = 2`,
    );
    {
      using db = new DatabaseSync(directory.db);
      for (const kind of ['approve', 'cancel', 'message'] as const) {
        const { by: _, ...old } = order(kind, kind);
        db.prepare('INSERT INTO orders (id, root, text) VALUES (?, ?, ?)').run(kind, root, JSON.stringify(old));
      }
    }
    const store = await open();
    expect(warnings).toEqual([expect.stringMatching(/^2 waiting orders were dropped/)]);
    const owner = await store.open();
    await store.claim(owner, root);
    expect(await store.orders(owner)).toEqual([order('cancel', 'cancel')]);
    expect(warnings).toHaveLength(1);
    await store.close();
  });
});

describe('a tree whose runs another program changed', () => {
  const child = createRunId(2);
  const copyFact = (seq: number) =>
    `INSERT INTO facts (run, seq, tree, at, v, type, data, hash) SELECT run, ${seq}, tree, at, v, 'approval.answered', data, '${'f'.repeat(64)}' FROM facts WHERE run = 1 AND seq = 3`;
  const changes = [
    ['an added fact', `${copyFact(4)}; UPDATE runs SET seq = 4 WHERE n = 1`],
    ['an added fact that no row counts', copyFact(4)],
    ['an added fact in a child', `${copyFact(4).replace('SELECT run', 'SELECT 2')}; UPDATE runs SET seq = 4 WHERE n = 2`],
    ['a changed fact', `UPDATE facts SET data = '{}', hash = '${'f'.repeat(64)}' WHERE run = 1 AND seq = 3`],
    ['a removed fact', 'DELETE FROM facts WHERE run = 1 AND seq = 3; UPDATE runs SET seq = 2 WHERE n = 1'],
    ['no tag', 'UPDATE runs SET tag = NULL WHERE n = 2'],
    ['the tag of another run', 'UPDATE runs SET tag = (SELECT tag FROM runs WHERE n = 2) WHERE n = 1'],
    ['an added run', `INSERT INTO runs (id, tree, live, seq, row) SELECT '${createRunId(3)}', tree, 1, 0, row FROM runs WHERE n = 1`],
    ['a consumed order that was removed', 'DELETE FROM consumed'],
    ['a dropped order that was removed', "DELETE FROM consumed WHERE id = 'dropped'"],
  ] as const;

  /** A root and a child with three facts each, without an owner. */
  async function createTree(): Promise<void> {
    const store = await open();
    const owner = await store.open();
    await store.append(owner, [createUnit(root, root, 1, 2)]);
    for (const id of ['used', 'dropped']) await store.order(order(id, 'refuse'));
    await store.append(owner, [createUnit(root, child, 1, 3), { ...createUnit(root, root, 3), consumed: ['used'] }]);
    await store.dropOrders(owner, ['dropped']);
    await store.close();
  }
  const change = (sql: string) => {
    using db = new DatabaseSync(directory.db);
    db.exec(sql);
  };
  const openWith = (options: { adopt?: boolean; authenticator?: typeof testAuthenticator }) =>
    openSqliteStore({ path: directory.db, authenticator: testAuthenticator, ...options });
  async function claim(options: { adopt?: boolean; authenticator?: typeof testAuthenticator } = {}): Promise<unknown> {
    const store = await openWith(options);
    try {
      return await store.claim(await store.open(), root);
    } finally {
      await store.close();
    }
  }
  const refusal = { code: 'store_corrupt', message: expect.stringMatching(/were changed by another program.*--adopt/) };

  it.each(changes)('(%s) is not claimed until it is adopted, and its faults are named', async (_, sql) => {
    await createTree();
    change(sql);
    await expect(claim()).rejects.toMatchObject(refusal);
    const store = await open();
    expect(await store.holders([root])).toEqual(new Map([[root, null]]));
    expect(await store.findFaults()).toContainEqual({ where: 'rows', what: expect.stringContaining('its tag does not match its events') });
    await store.close();
    expect(await claim({ adopt: true })).toMatchObject({ ok: true });
    expect(await claim()).toMatchObject({ ok: true });
  });

  it('is claimed if nothing was changed, and has no faults, also after it was erased', async () => {
    await createTree();
    expect(await claim()).toMatchObject({ ok: true });
    change("UPDATE runs SET live = 0, row = json_set(row, '$.status', 'completed')");
    const store = await open();
    expect(await store.findFaults()).toEqual([]);
    expect(await store.erase(root, at)).toMatchObject({ ok: true });
    expect(await store.findFaults()).toEqual([]);
    await store.close();
  });

  it('is not claimed with another key, and can be read without one', async () => {
    await createTree();
    await expect(claim({ authenticator: createTestAuthenticator(2) })).rejects.toMatchObject(refusal);
    const reader = await openSqliteReader({ path: directory.db, authenticator: createTestAuthenticator(2) });
    expect(await reader.findFaults()).toEqual([]);
    expect(await reader.head(root)).toMatchObject({ seq: 3 });
    await reader.close();
  });

  it('is not read as a basis for anything new', async () => {
    await createTree();
    change(changes[0][1]);
    const store = await open();
    await expect(store.head(root)).rejects.toMatchObject(refusal);
    expect(await store.head(child)).toMatchObject({ seq: 3 });
    await store.close();
  });

  it('while a process owns it is refused by that process, which signs nothing of it', async () => {
    await createTree();
    const store = await open();
    const owner = await store.open();
    await store.claim(owner, root);
    change(changes[0][1]);
    await store.order(order('late', 'refuse'));
    await store.dropOrders(owner, ['late']);
    expect(await store.append(owner, [createUnit(root, root, 4)])).toEqual([{ ok: false, reason: 'conflict' }]);
    await store.close();
    await expect(claim()).rejects.toMatchObject(refusal);
  });

  it('is noticed also in a run that this process has just written', async () => {
    await createTree();
    const store = await open();
    const owner = await store.open();
    await store.claim(owner, root);
    expect(await store.append(owner, [createUnit(root, root, 4)])).toEqual([{ ok: true }]);
    expect(await store.append(owner, [createUnit(root, root, 5)])).toEqual([{ ok: true }]);
    change('UPDATE runs SET seq = seq + 1');
    expect(await store.append(owner, [createUnit(root, root, 6)])).toEqual([{ ok: false, reason: 'conflict' }]);
    await store.close();
  });

  it('does not get back an order that an earlier process consumed', async () => {
    await createTree();
    const store = await open();
    const owner = await store.open();
    await store.claim(owner, root);
    change('DELETE FROM consumed');
    change(
      `INSERT INTO orders (id, root, text, tag) VALUES ('used', '${root}', '${JSON.stringify(order('used', 'refuse'))}', '${testAuthenticator.sign(order('used', 'refuse'))}')`,
    );
    expect(await store.orders(owner)).toEqual([]);
    await store.append(owner, [createUnit(root, root, 4)]);
    await store.close();
    await expect(claim()).rejects.toMatchObject(refusal);
  });

  it('by an earlier version of Retinue is accepted as it is when the database is upgraded', async () => {
    await createTree();
    change(`${restoreVersion6()} ALTER TABLE runs DROP COLUMN tag; PRAGMA user_version = 5`);
    expect(await claim()).toMatchObject({ ok: true });
    change(changes[0][1]);
    await expect(claim()).rejects.toMatchObject(refusal);
  });
});
