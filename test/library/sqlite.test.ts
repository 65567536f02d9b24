// `openSqliteStore` of `retinue/sqlite`: whose database it is, who may give orders, and reading only.
import { copyFileSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createRetinue } from '../../src/main/index.ts';
import { openSqliteStore } from '../../src/main/sqlite.ts';
import { scriptedModel } from '../../src/main/testing.ts';

let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'retinue-library-'));
  path = join(folder, 'data', 'runs.db');
  vi.stubEnv('XDG_CONFIG_HOME', join(folder, 'config'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** The same bytes in another file, as a clone or a backup brings them. */
function replaceByCopy(): void {
  copyFileSync(path, `${path}.copy`);
  renameSync(`${path}.copy`, path);
}

async function createDatabase(): Promise<void> {
  const model = scriptedModel({ runs: [{ steps: [{ text: 'done' }] }] });
  await using retinue = createRetinue({ model, store: await openSqliteStore({ path }) });
  await (await retinue.delegate({ task: 'work' })).outcome;
}

it('opens what this user created here, and refuses anything else unless it is adopted', async () => {
  await createDatabase();
  await (await openSqliteStore({ path })).close();
  replaceByCopy();
  await expect(openSqliteStore({ path })).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('`adopt: true`') });
  await (await openSqliteStore({ path, adopt: true })).close();
  const store = await openSqliteStore({ path });
  expect(await store.runs({})).toHaveLength(1);
  await store.close();
});

it('with `readOnly` reads any database, leaves no file, and refuses to write', async () => {
  await createDatabase();
  replaceByCopy();
  const store = await openSqliteStore({ path, readOnly: true });
  expect(await store.runs({})).toMatchObject([{ status: 'completed' }]);
  expect(await store.findFaults()).toEqual([]);
  await expect(store.open()).rejects.toMatchObject({ code: 'store_io', message: expect.stringContaining('only for reading') });
  expect(readdirSync(join(folder, 'data'))).toEqual(['runs.db']);
  await store.close();
  await expect(openSqliteStore({ path: join(folder, 'none', 'x.db'), readOnly: true })).rejects.toMatchObject({ code: 'store_io' });
  expect(readdirSync(folder).sort()).toEqual(['config', 'data']);
});

it('accepts orders only from stores with the same key', async () => {
  const order = {
    runId: '0'.repeat(16),
    rootId: '0'.repeat(16),
    kind: 'cancel',
    by: 'a',
    text: '',
    at: new Date(0).toISOString(),
  } as const;
  const warnings: string[] = [];
  const orderKey = join(folder, 'key');
  const first = await openSqliteStore({ path, orderKey, warn: (message) => warnings.push(message) });
  const [same, other] = [await openSqliteStore({ path, orderKey }), await openSqliteStore({ path })];
  const owner = await first.open();
  await first.claim(owner, order.rootId);
  await same.order({ ...order, id: 'same' });
  await other.order({ ...order, id: 'other' });
  expect((await first.orders(owner)).map(({ id }) => id)).toEqual(['same']);
  expect(warnings).toEqual([expect.stringContaining('order other (cancel')]);
  expect(statSync(orderKey).mode & 0o777).toBe(0o600);
  for (const store of [first, same, other]) await store.close();
});

it('is closed once, however often and from wherever `close` is called', async () => {
  await using retinue = createRetinue({
    model: scriptedModel({ runs: [{ steps: [{ text: 'done' }] }] }),
    store: await openSqliteStore({ path }),
  });
  await (await retinue.delegate({ task: 'work' })).outcome;
  await Promise.all([retinue.close(), retinue.close()]);
  await retinue.api.close();
});
