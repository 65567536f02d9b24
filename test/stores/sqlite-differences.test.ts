// Facts that are stored as differences from an earlier one: read again byte for byte, through every way to read them.
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/contract/json.ts';
import type { Store, TreeAppend, WrittenFact } from '../../src/ports/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { openSqliteReader } from '../../src/stores/sqlite/reader.ts';
import { canonical } from '../../src/text/canonical.ts';
import { createTemporaryDirectory } from './support/temporary.ts';
import { createRunId, createUnit } from './support/units.ts';

const [root, child] = [createRunId(1), createRunId(2)];
const padding = 'x'.repeat(200);
let directory: ReturnType<typeof createTemporaryDirectory>;
beforeEach(() => {
  directory = createTemporaryDirectory();
});
afterEach(() => directory.remove());

/** A unit with one fact for each of these data. */
function createFacts(run: string, from: number, data: JsonObject[], type = 'message.received'): TreeAppend {
  const unit = createUnit(root, run, from, from + data.length - 1);
  const facts = unit.facts.map((fact, i) => ({ ...fact, type, data: data[i], text: canonical(data[i]) }) as unknown as WrittenFact);
  return { ...unit, facts };
}

async function append(store: Store, ...units: TreeAppend[]): Promise<void> {
  const owner = await store.open();
  await store.claim(owner, root);
  for (const unit of units) expect(await store.append(owner, [unit])).toEqual([{ ok: true }]);
  await store.release(owner);
}

async function readTexts(store: Store, runId = root): Promise<string[]> {
  return (await store.facts({ runId })).map(({ data }) => JSON.stringify(data));
}

function readTable(sql: string): Record<string, unknown>[] {
  using db = new DatabaseSync(directory.db, { readOnly: true });
  return db.prepare(sql).all();
}

const similar = (n: number): JsonObject => ({ from: 'parent', limits: { padding, turns: n }, text: `message ${n}` });

it('similar facts of a tree are stored once and differ by a patch', async () => {
  const store = await openSqliteStore({ path: directory.db });
  await append(store, createFacts(root, 1, [similar(1), similar(2)]), createFacts(child, 1, [similar(3)]));
  expect(await readTexts(store)).toEqual([similar(1), similar(2)].map(canonical));
  expect(await readTexts(store, child)).toEqual([canonical(similar(3))]);
  await store.close();
  expect(readTable('SELECT base, data FROM facts ORDER BY position')).toEqual([
    { base: null, data: canonical(similar(1)) },
    { base: 1, data: '{"limits":{"turns":2},"text":"message 2"}' },
    { base: 1, data: '{"limits":{"turns":3},"text":"message 3"}' },
  ]);
});

it('are whole in the view whole_facts, with moments and hashes as text', async () => {
  const store = await openSqliteStore({ path: directory.db });
  await append(store, createFacts(root, 1, [similar(1), similar(2)]));
  const stored = await store.facts({ runId: root });
  await store.close();
  const rows = readTable('SELECT seq, at, data, hash FROM whole_facts ORDER BY position');
  expect(rows).toEqual(stored.map(({ seq, at, data, hash }) => ({ seq, at, data: canonical(data), hash })));
});

it('a process that takes over does not need what the earlier one remembered', async () => {
  const first = await openSqliteStore({ path: directory.db });
  await append(first, createFacts(root, 1, [similar(1), similar(2)]));
  await first.close();
  const second = await openSqliteStore({ path: directory.db });
  await append(second, createFacts(root, 3, [similar(3), similar(4)]));
  await second.close();
  const reader = await openSqliteReader({ path: directory.db });
  expect(await readTexts(reader)).toEqual([1, 2, 3, 4].map((n) => canonical(similar(n))));
  await reader.close();
});

it('text of the base is found in every fact that has it', async () => {
  const store = await openSqliteStore({ path: directory.db });
  await append(store, createFacts(root, 1, [similar(1), similar(2)]));
  const find = async (text: string) => (await store.search(text, { limit: 10 })).map(({ seq }) => seq);
  expect(await find(padding)).toEqual([2, 1]);
  expect(await find('MESSAGE 2')).toEqual([2]);
  expect(await find('message 3')).toEqual([]);
  await store.close();
});

it('a transaction that is not committed leaves no base behind', async () => {
  const store = await openSqliteStore({ path: directory.db });
  const owner = await store.open();
  await store.claim(owner, root);
  const other = createRunId(9);
  const fine = createFacts(root, 1, [similar(1)]);
  // A row that cannot be written as JSON ends the whole transaction.
  const broken = { ...createUnit(other, other, 1), rows: [{ ...createUnit(other, other, 1).rows[0], turns: 1n as never }] } as TreeAppend;
  await expect(store.append(owner, [fine, broken])).rejects.toThrow();
  expect(await store.append(owner, [createFacts(root, 1, [similar(1), similar(2)])])).toEqual([{ ok: true }]);
  expect(await readTexts(store)).toEqual([similar(1), similar(2)].map(canonical));
  await store.close();
});

describe('damage', () => {
  it.each([
    ['of the base', "UPDATE facts SET data = '{' WHERE position = 1", 1],
    ['of the difference', "UPDATE facts SET data = '{' WHERE position = 2", 2],
    ['by a base that does not exist', 'UPDATE facts SET base = 99 WHERE position = 2', 2],
    [
      'by a base of a size that no other fact may multiply',
      `UPDATE facts SET data = json_set(data, '$.text', '${'x'.repeat(12_300)}') WHERE position = 1`,
      2,
    ],
  ])('%s is reported with the run and the number of a fact', async (_, sql, seq) => {
    const store = await openSqliteStore({ path: directory.db });
    await append(store, createFacts(root, 1, [similar(1), similar(2)]));
    await store.close();
    {
      using db = new DatabaseSync(directory.db);
      db.exec(sql);
    }
    const reader = await openSqliteReader({ path: directory.db });
    await expect(reader.facts({ runId: root })).rejects.toMatchObject({
      code: 'store_corrupt',
      message: expect.stringContaining(`Fact ${seq} of run ${root}`),
    });
    expect(await reader.search('message 7', { limit: 10 })).toEqual([]);
    await reader.close();
  });
});

it('any facts are read as they were written', async () => {
  const store = await openSqliteStore({ path: directory.db });
  const owner = await store.open();
  await store.claim(owner, root);
  let seq = 0;
  const written: string[] = [];
  const value = fc.oneof(fc.constantFrom(null, 1, 'x', padding), fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonObject[string]>);
  const data = fc.dictionary(fc.constantFrom('a', 'b', 'c', '2', '__proto__'), value, { maxKeys: 4 }) as fc.Arbitrary<JsonObject>;
  await fc.assert(
    fc.asyncProperty(fc.array(data, { minLength: 1, maxLength: 20 }), async (parts) => {
      const batch = parts.map((part): JsonObject => ({ ...part, shared: padding }));
      expect(await store.append(owner, [createFacts(root, seq + 1, batch)])).toEqual([{ ok: true }]);
      seq += batch.length;
      written.push(...batch.map(canonical));
    }),
    { numRuns: 50, endOnFailure: true },
  );
  expect(await readTexts(store)).toEqual(written.map((text) => JSON.stringify(JSON.parse(text))));
  await store.close();
  expect(readTable('SELECT count(*) AS n FROM facts WHERE base IS NOT NULL')[0]?.n).toBeGreaterThan(20);
});
