import { existsSync, readdirSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { getUserVersion, type Migration, migrate, migrations } from '../../src/stores/sqlite/migrations.ts';
import { createActors } from './support/actors.ts';
import { createTemporaryDirectory } from './support/temporary.ts';

const steps: Migration[] = [...migrations, (db) => db.exec('CREATE TABLE whole (x)'), (db) => db.exec('CREATE TABLE half (x)')];
const first = migrations.length;
let directory: ReturnType<typeof createTemporaryDirectory>;
const actors = createActors();
beforeEach(() => {
  directory = createTemporaryDirectory();
});
afterEach(async () => {
  await actors.end();
  directory.remove();
});

function readTables(db: DatabaseSync): string[] {
  return db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('whole', 'half') ORDER BY name")
    .all()
    .map(({ name }) => String(name));
}

describe('a migration', () => {
  it.each(['SIGKILL', 'error'] as const)('interrupted by %s leaves only complete steps, and the next start completes it', async (how) => {
    await (await openSqliteStore({ path: directory.db })).close();
    const actor = actors.start(directory.db);
    await expect(actor.call('migrate', how)).rejects.toThrow(how === 'error' ? 'broken step' : 'the process ended');
    await actor.signal('SIGKILL');
    using db = new DatabaseSync(directory.db);
    expect(readTables(db)).toEqual(['whole']);
    expect(getUserVersion(db)).toBe(first + 1);
    migrate(db, directory.db, { steps });
    expect(readTables(db)).toEqual(['half', 'whole']);
    expect(getUserVersion(db)).toBe(first + 2);
  });

  it('refuses a database that has become newer in the meantime', async () => {
    await (await openSqliteStore({ path: directory.db })).close();
    using db = new DatabaseSync(directory.db);
    migrate(db, directory.db, { steps });
    expect(() => migrate(db, directory.db)).toThrow(expect.objectContaining({ code: 'store_newer' }));
    expect(db.isTransaction).toBe(false);
    expect(getUserVersion(db)).toBe(first + 2);
  });
});

describe('a database that does not exist yet', () => {
  it('may be opened several times at once, in one process and in several', { timeout: 60_000 }, async () => {
    const others = Array.from({ length: 6 }, () => actors.start(directory.db));
    await Promise.all(others.map((actor) => actor.call('wakeUps')));
    const own = Array.from({ length: 4 }, () => openSqliteStore({ path: directory.db }));
    await Promise.all(others.map((actor) => actor.call('connect')));
    const stores = await Promise.all(own);
    await Promise.all(others.map((actor) => actor.call('open')));
    using db = new DatabaseSync(directory.db);
    expect(db.prepare('SELECT count(*) AS n FROM owners').get()).toEqual({ n: 6 });
    for (const store of stores) await store.close();
    expect(readdirSync(directory.path).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('does not exist after its creator was killed, and can be created again', async () => {
    await expect(actors.start(directory.db).call('create')).rejects.toThrow('the process ended');
    expect(existsSync(directory.db)).toBe(false);
    const store = await openSqliteStore({ path: directory.db });
    expect(await store.runs({})).toEqual([]);
    await store.close();
  });

  it('leaves nothing behind if the disk is full', async () => {
    const actor = actors.start(directory.db, { shell: 'ulimit -f 16' });
    await expect(actor.call('connect')).rejects.toMatchObject({ code: 'store_io' });
    expect(readdirSync(directory.path)).toEqual([]);
  });
});
