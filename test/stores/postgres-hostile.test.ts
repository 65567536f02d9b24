// Odd and hostile content: characters that PostgreSQL cannot store, large data, and tables that somebody else changed.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { WrittenFact } from '../../src/ports/store.ts';
import { createFacts, createHash, createOrder, createRow } from '../../src/testing/store-suite/fixtures.ts';
import { createPlace, createPlaceAlone, type StorePlace } from './support/postgres.ts';
import { createRunId, createUnit } from './support/units.ts';

const root = createRunId(1);
const nasty = 'nul \0 backslash \\ \\0 \\\\0 quote \' " brace {} , NULL \u2028 🧵 \ufffe \u0001';

describe('characters', () => {
  it('are kept byte for byte in facts, rows, keys, orders, blobs and consumed ids', async () => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner();
    const data = { from: nasty, text: nasty };
    const [head] = createFacts(root, 1) as [WrittenFact];
    const fact = { ...head, data, text: JSON.stringify(data) } as WrittenFact;
    const row = createRow(root, { label: nasty, idempotencyKey: nasty });
    const blobs = [
      { hash: createHash(1), content: nasty },
      { hash: createHash(2), content: '' },
    ];
    expect(await store.append(owner, [{ rootId: root, facts: [fact], rows: [row], blobs, consumed: [] }])).toEqual([{ ok: true }]);
    expect((await store.facts({ runId: root }))[0]?.data).toEqual(data);
    expect(await place.sql('SELECT data FROM $s.facts')).toEqual([{ data: fact.text }]);
    expect(await store.run(root)).toEqual(row);
    expect((await store.runByKey(null, nasty))?.runId).toBe(root);
    expect(await store.runByKey(null, nasty.replace('\0', ''))).toBeNull();
    expect([await store.blob(createHash(1)), await store.blob(createHash(2))]).toEqual([nasty, '']);
    const order = { ...createOrder(1, root), id: nasty, text: nasty, by: nasty };
    await store.order(order);
    expect(await store.orders(owner)).toEqual([order]);
    await store.append(owner, [{ ...createUnit(root, root, 2), rows: [{ ...row, lastSeq: 2 }], consumed: [nasty] }]);
    await store.order(order);
    expect(await store.orders(owner)).toEqual([]);
    expect((await store.search('backslash \\', { limit: 5 })).map(({ seq }) => seq)).toEqual([1]);
    expect((await store.search('\0', { limit: 5 })).map(({ seq }) => seq)).toEqual([1]);
    await store.release(owner);
    const next = await store.open();
    expect(await store.claim(next, root)).toEqual({ ok: true, previous: null });
    expect(await store.findFaults()).toEqual([]);
  });

  it('of SQL change nothing but the text that they are in', async () => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner();
    const evil = "'; DROP TABLE facts; --";
    for (const value of [evil, '$1', '%s', '{"a":1}', '{1,2}', '\\x00']) {
      expect(await store.run(value)).toBeNull();
      expect(await store.facts({ runId: value })).toEqual([]);
      expect(await store.facts({ rootId: value })).toEqual([]);
      expect(await store.blob(value)).toBeNull();
      expect(await store.runs({ prefix: value, parentId: value, rootId: value, before: value })).toEqual([]);
      expect(await store.search(value, { limit: 1 })).toEqual([]);
      expect(await store.holders([value])).toEqual(new Map([[value, null]]));
      expect(await store.weigh([value])).toEqual({ facts: 0, bytes: 0 });
      await expect(store.facts({ after: value })).rejects.toMatchObject({ code: 'usage' });
    }
    expect(await store.append(owner, [createUnit(root, root, 1)])).toEqual([{ ok: true }]);
  });

  it('of a position must be those of a position', async () => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner();
    await store.append(owner, [createUnit(root, root, 1)]);
    const [fact] = await store.facts({ rootId: root });
    const odd = [
      '0-0',
      '00',
      '1-',
      '-1',
      '1-1-1',
      '1-1 ',
      ' 1-1',
      '1e3-1',
      `${2n ** 64n}-1`,
      `1-${2n ** 63n}`,
      '٣-1',
      `0${fact?.position}`,
    ];
    for (const position of odd)
      expect([position, (await store.cursor(position)).behind]).toEqual([position, position === '0-0' ? 1 : null]);
    // Well formed, but no fact has it.
    expect((await store.cursor('1-1')).behind).toBeNull();
    expect((await store.cursor(`${fact?.position}9`)).behind).toBeNull();
  });
});

describe('much data', () => {
  it('10,000 facts in one append, in order, in pages and in one piece', { timeout: 120_000 }, async () => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner();
    expect(await store.append(owner, [createUnit(root, root, 1, 10_000)])).toEqual([{ ok: true }]);
    const all = await store.facts({ rootId: root });
    expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: 10_000 }, (_, n) => n + 1));
    // Others use the same server: their transactions delay what a reader of all trees sees.
    await expect.poll(async () => (await store.facts({})).length, { timeout: 30_000 }).toBe(10_000);
    expect((await store.facts({})).map(({ position }) => position)).toEqual(all.map(({ position }) => position));
    expect(await store.facts({ after: all[9_989]?.position as string, limit: 4 })).toEqual(all.slice(9_990, 9_994));
    expect((await store.cursor(all[0]?.position)).behind).toBe(9_999);
    expect(await store.head(root)).toMatchObject({ seq: 10_000 });
  });

  it('blobs and facts of many megabytes', { timeout: 120_000 }, async () => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner();
    const bytes = new Uint8Array(randomBytes(24_000_000));
    const text = 'ünï "🧵" '.repeat(500_000);
    const data = { from: 'x', text: 'y'.repeat(8_000_000) };
    const [head] = createFacts(root, 1) as [WrittenFact];
    const unit = createUnit(root, root, 1);
    unit.facts = [{ ...head, data, text: JSON.stringify(data) } as WrittenFact];
    unit.blobs = [
      { hash: createHash(1), content: bytes },
      { hash: createHash(2), content: text },
    ];
    expect(await store.append(owner, [unit])).toEqual([{ ok: true }]);
    expect(Buffer.compare((await store.blob(createHash(1))) as Uint8Array, bytes)).toBe(0);
    expect(await store.blob(createHash(2))).toBe(text);
    expect((await store.facts({ runId: root }))[0]?.data).toEqual(data);
    expect(await store.size()).toBeGreaterThan(24_000_000);
  });

  it('one append with 1,000 trees', { timeout: 120_000 }, async () => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner();
    const ids = Array.from({ length: 1_000 }, (_, n) => createRunId(1_000 + n));
    const results = await store.append(
      owner,
      ids.map((id) => createUnit(id, id, 1)),
    );
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(await store.runs({ limit: 2_000 })).toHaveLength(1_000);
  });
});

describe('erased data', () => {
  it('is gone from the tables after the space was reclaimed', async () => {
    const place = await createPlaceAlone();
    const { store, owner } = await place.openOwner();
    const secret = 'very-secret-text-4711';
    const unit = createUnit(root, root, 1);
    const data = { from: secret, text: secret };
    unit.facts = [{ ...(createFacts(root, 1)[0] as WrittenFact), data, text: JSON.stringify(data) } as WrittenFact];
    unit.rows = unit.rows.map((row) => ({ ...row, label: secret, status: 'completed' }));
    unit.blobs = [{ hash: createHash(1), content: secret }];
    await store.append(owner, [unit]);
    await store.order({ ...createOrder(1, root), text: secret });
    const countVersions = async () => (await readPages(place)).filter((page) => page.includes(secret)).length;
    expect(await countVersions()).toBeGreaterThan(0);
    await store.release(owner);
    const result = await store.erase(root, '2026-01-02T03:04:05.678Z');
    // The server's own ANALYZE may still see the old versions, then the next attempt removes them.
    const reclaim = async () => {
      await store.reclaim((result as { bytes: number }).bytes * 1_000_000);
      return countVersions();
    };
    await expect.poll(reclaim, { timeout: 30_000 }).toBe(0);
    expect(await store.findFaults()).toEqual([]);
  });
});

/** The pages of the tables as the server has them, with all versions of rows. */
async function readPages(place: StorePlace): Promise<string[]> {
  await place.sql('CHECKPOINT');
  const tables = ['facts', 'runs', 'blobs', 'orders'];
  const files = await Promise.all(tables.map((table) => place.sql<{ path: string }>(`SELECT pg_relation_filepath('$s.${table}') AS path`)));
  const pages = files.map(async ([file]) => place.sql<{ content: Buffer }>('SELECT pg_read_binary_file($1) AS content', [file?.path]));
  return (await Promise.all(pages)).map(([page]) => page?.content.toString('latin1') ?? '');
}

describe('tables that somebody else changed', () => {
  it.each([
    ['UPDATE $s.runs SET row = replace(row, \'"running"\', \'"completed"\')', 'rows', /another status/],
    ["UPDATE $s.runs SET row = 'x'", 'rows', /not JSON/],
    ['UPDATE $s.runs SET seq = 7', 'rows', /another number of events/],
    ['UPDATE $s.runs SET tag = null', 'rows', /tag does not match/],
    ["UPDATE $s.facts SET hash = repeat('f', 64) WHERE seq = 2", 'rows', /tag does not match/],
    ['DELETE FROM $s.facts WHERE seq = 2', 'rows', /tag does not match/],
    ['DELETE FROM $s.trees', 'trees', /tree that is missing/],
    ['UPDATE $s.facts SET tree = tree + 1', 'trees', /another tree/],
    ['UPDATE $s.facts SET run = run + 1', 'trees', /runs that are missing/],
    ['DROP TABLE $s.pins', 'schema', /`pins` is missing/],
    ['ALTER TABLE $s.runs ADD COLUMN more text', 'schema', /`runs` does not have the columns/],
    [
      'CREATE FUNCTION $s.f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$; CREATE TRIGGER evil BEFORE INSERT ON $s.orders FOR EACH ROW EXECUTE FUNCTION $s.f()',
      'schema',
      /trigger `evil`/,
    ],
    ['CREATE RULE quiet AS ON DELETE TO $s.orders DO INSTEAD NOTHING', 'schema', /rule `quiet`/],
    ['ALTER TABLE $s.facts ENABLE ROW LEVEL SECURITY', 'schema', /row security/],
  ])('%s', async (statement, where, what) => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner();
    await store.append(owner, [createUnit(root, root, 1, 2)]);
    expect(await store.findFaults()).toEqual([]);
    await place.sql(statement);
    expect(await store.findFaults()).toContainEqual({ where, what: expect.stringMatching(what) });
  });

  it('are not taken over: nobody continues a run that another program has changed', async () => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner();
    await store.append(owner, [createUnit(root, root, 1, 2)]);
    await store.release(owner);
    await place.sql(
      "INSERT INTO $s.facts (run, seq, tree, at, v, type, data, hash) SELECT run, 3, tree, at, v, type, data, repeat('a', 64) FROM $s.facts WHERE seq = 2; UPDATE $s.runs SET seq = 3",
    );
    const next = await store.open();
    await expect(store.claim(next, root)).rejects.toMatchObject({ code: 'store_corrupt' });
    await expect(store.head(root)).rejects.toMatchObject({ code: 'store_corrupt' });
    const adopter = await place.openOwner({ adopt: true });
    expect(await adopter.store.claim(adopter.owner, root)).toEqual({ ok: true, previous: null });
    expect(await adopter.store.append(adopter.owner, [createUnit(root, root, 4)])).toEqual([{ ok: true }]);
  });
});
