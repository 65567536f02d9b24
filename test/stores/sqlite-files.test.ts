// Opening whatever may be at the path of a database gives the right data or a clear error, never silently a new database.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isRetinueError } from '../../src/contract/error.ts';
import { isOlderVersion } from '../../src/stores/sqlite/connect.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { isWalHeader } from '../../src/stores/sqlite/inspect.ts';
import { enableWal } from '../../src/stores/sqlite/new-database.ts';
import { createActors } from './support/actors.ts';
import { testAuthenticator } from './support/authenticator.ts';
import { createTemporaryDirectory } from './support/temporary.ts';
import { createRunId, createUnit } from './support/units.ts';

const root = createRunId(1);
let directory: ReturnType<typeof createTemporaryDirectory>;
beforeEach(() => {
  directory = createTemporaryDirectory();
});
afterEach(() => directory.remove());

/** A database with three facts that was closed properly. */
async function createFilledDatabase(path = directory.db): Promise<void> {
  const store = await openSqliteStore({ path, authenticator: testAuthenticator });
  const owner = await store.open();
  await store.append(owner, [createUnit(root, root, 1, 3)]);
  await store.close();
}

async function readFacts(path = directory.db): Promise<unknown[]> {
  const store = await openSqliteStore({ path, authenticator: testAuthenticator });
  try {
    return (await store.facts({ runId: root })).map(({ data }) => data);
  } finally {
    await store.close();
  }
}

const countFacts = async (path?: string) => (await readFacts(path)).length;

const expectOpenError = (code: string, path = directory.db) =>
  expect(openSqliteStore({ path, authenticator: testAuthenticator })).rejects.toMatchObject({
    code,
    message: expect.stringContaining(path),
  });

describe('a new database', () => {
  it('is created with its directories; a directory .retinue gets a .gitignore for itself', async () => {
    const path = join(directory.path, 'deep', '.retinue', 'retinue.db');
    await createFilledDatabase(path);
    expect(await countFacts(path)).toBe(3);
    expect(readFileSync(join(path, '..', '.gitignore'), 'utf8')).toBe('*\n');
    expect(readdirSync(join(path, '..')).sort()).toEqual(['.gitignore', 'retinue.db']);
  });

  it('leaves an existing .retinue unchanged', async () => {
    mkdirSync(join(directory.path, '.retinue'));
    await createFilledDatabase(join(directory.path, '.retinue', 'retinue.db'));
    expect(readdirSync(join(directory.path, '.retinue'))).toEqual(['retinue.db']);
  });

  it('is found through a symbolic link', async () => {
    await createFilledDatabase();
    symlinkSync(directory.db, join(directory.path, 'link.db'));
    expect(await countFacts(join(directory.path, 'link.db'))).toBe(3);
    expect(readdirSync(directory.path).sort()).toEqual(['link.db', 'retinue.db']);
  });

  it('cannot be :memory:', () => expectOpenError('store_io', ':memory:'));

  it('may have any name', async () => {
    const path = join(directory.path, 'a b?mode=ro#%41.db');
    await createFilledDatabase(path);
    expect(await countFacts(path)).toBe(3);
    expect(readdirSync(directory.path)).toEqual(['a b?mode=ro#%41.db']);
  });

  it('uses a write-ahead log', async () => {
    await createFilledDatabase();
    using db = new DatabaseSync(directory.db);
    expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  });
});

describe('a path that cannot be opened', () => {
  it('is below a file', async () => {
    writeFileSync(join(directory.path, 'file'), '');
    await expectOpenError('store_io', join(directory.path, 'file', 'retinue.db'));
    await expectOpenError('store_io', join(directory.path, 'file', '.retinue', 'retinue.db'));
    expect(statSync(join(directory.path, 'file')).size).toBe(0);
  });

  it('is in a directory where even root cannot create files', async () => {
    await expectOpenError('store_io', '/proc/retinue.db');
    await expectOpenError('store_io', '/proc/self/.retinue/retinue.db');
  });

  it('is a directory', () => expectOpenError('store_io', directory.path));

  it('is on a file system without support for a write-ahead log', () => {
    using db = new DatabaseSync(new URL(`file://${directory.db}?vfs=unix-dotfile`));
    expect(() => enableWal(db, directory.db)).toThrow(/journal mode is "delete".*network.*local disk/);
  });
});

describe('a file that is not a usable Retinue database stays unchanged', () => {
  const names = () => readdirSync(directory.path).sort();

  it('garbage', async () => {
    const garbage = 'no database, but long enough to have a header of a hundred bytes '.repeat(20);
    writeFileSync(directory.db, garbage);
    await expectOpenError('store_corrupt');
    expect(readFileSync(directory.db, 'utf8')).toBe(garbage);
    expect(names()).toEqual(['retinue.db']);
  });

  it('an empty file', async () => {
    writeFileSync(directory.db, '');
    await expectOpenError('store_corrupt');
    expect(statSync(directory.db).size).toBe(0);
  });

  it.each(['DELETE', 'WAL'])("another program's database (%s)", async (mode) => {
    using db = new DatabaseSync(directory.db);
    db.exec(`PRAGMA journal_mode = ${mode}; CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)`);
    db.close();
    const before = readFileSync(directory.db);
    await expectOpenError('store_corrupt');
    expect(readFileSync(directory.db).equals(before)).toBe(true);
    expect(names()).toEqual(['retinue.db']);
  });

  it('a newer version', async () => {
    await createFilledDatabase();
    const db = new DatabaseSync(directory.db);
    db.exec('PRAGMA user_version = 1000; PRAGMA journal_mode = DELETE');
    db.close();
    const before = readFileSync(directory.db);
    await expectOpenError('store_newer');
    expect(readFileSync(directory.db).equals(before)).toBe(true);
    expect(names()).toEqual(['retinue.db']);
  });

  it('a newer version that is only in the write-ahead log', async () => {
    await createFilledDatabase();
    // The process is killed, so that the log is not copied into the database.
    const actors = createActors();
    const actor = actors.start(directory.db);
    await actor.call('connect');
    await actor.call('sql', 'PRAGMA user_version = 1000');
    await actor.signal('SIGKILL');
    const before = [readFileSync(directory.db), readFileSync(`${directory.db}-wal`)];
    await expectOpenError('store_newer');
    expect([readFileSync(directory.db), readFileSync(`${directory.db}-wal`)]).toEqual(before);
  });
});

describe('damage', () => {
  /** A database whose last process was killed: three facts in the file, two more in the log. */
  async function createKilledDatabase(): Promise<Buffer> {
    await createFilledDatabase();
    const actors = createActors();
    const actor = actors.start(directory.db);
    await actor.call('connect');
    await actor.call('open');
    await actor.call('claim', root);
    await actor.call('append', root, root, 4, 5);
    await actor.signal('SIGKILL');
    return readFileSync(`${directory.db}-wal`);
  }

  it('is not reported for what a killed process had committed', async () => {
    await createKilledDatabase();
    expect(await countFacts()).toBe(5);
  });

  it.each([
    ['garbage', () => Buffer.from('garbage '.repeat(1_000))],
    ['zeros', () => Buffer.alloc(8_192)],
    ['a few bytes', () => Buffer.from('7')],
    ['a flipped byte in its header', (log: Buffer) => log.fill((log[13] as number) ^ 1, 13, 14)],
  ])('a log that is %s is an error and stays unchanged', async (_, damage) => {
    const log = damage(await createKilledDatabase());
    writeFileSync(`${directory.db}-wal`, log);
    await expectOpenError('store_corrupt');
    expect(readFileSync(`${directory.db}-wal`).equals(log)).toBe(true);
    rmSync(`${directory.db}-wal`);
    expect(await countFacts()).toBe(3);
  });

  it('a truncated log gives the last complete commit', async () => {
    const log = await createKilledDatabase();
    truncateSync(`${directory.db}-wal`, log.length - 100);
    expect(await countFacts()).toBe(3);
  });

  it('a log without its database is an error', async () => {
    await createKilledDatabase();
    rmSync(directory.db);
    await expectOpenError('store_corrupt');
    expect(existsSync(directory.db)).toBe(false);
  });

  it('a truncated database is an error', async () => {
    await createFilledDatabase();
    truncateSync(directory.db, 8_192);
    await expectOpenError('store_corrupt');
  });

  it('a flipped bit anywhere in the header gives the right facts or an error', { timeout: 120_000 }, async () => {
    await createFilledDatabase();
    const [whole, facts] = [readFileSync(directory.db), await readFacts()];
    for (let bit = 0; bit < 800; bit++) {
      const flipped = Buffer.from(whole);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      writeFileSync(directory.db, flipped);
      const result = await readFacts().catch((error: unknown) => error);
      if (isRetinueError(result)) expect(result.code).toMatch(/^store_/);
      else expect(result, `bit ${bit}`).toEqual(facts);
      for (const end of ['-wal', '-shm']) rmSync(directory.db + end, { force: true });
    }
  });

  it('of a fact is reported with its run and number', async () => {
    await createFilledDatabase();
    const db = new DatabaseSync(directory.db);
    db.exec(`UPDATE facts SET data = '{"from' WHERE seq = 2`);
    db.close();
    const store = await openSqliteStore({ path: directory.db, authenticator: testAuthenticator });
    await expect(store.facts({ runId: root })).rejects.toMatchObject({
      code: 'store_corrupt',
      message: expect.stringContaining(`Fact 2 of run ${root}`),
    });
    expect(await store.facts({ runId: root, limit: 1 })).toHaveLength(1);
    await store.close();
  });
});

it('recognizes the header of a write-ahead log', () => {
  expect(isWalHeader(Buffer.alloc(0))).toBe(true);
  expect(isWalHeader(Buffer.alloc(32))).toBe(false);
});

it('compares versions as numbers', () => {
  expect(isOlderVersion('3.9.0', '3.51.3')).toBe(true);
  expect(isOlderVersion('3.51.2', '3.51.3')).toBe(true);
  expect(isOlderVersion('3.51.3', '3.51.3')).toBe(false);
  expect(isOlderVersion('3.100', '3.51.3')).toBe(false);
  expect(isOlderVersion('10.0.0', '3.51.3')).toBe(false);
});
