// Opening a PostgreSQL database: tables, versions, rights, and what the user is told.
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { isRetinueError } from '../../src/contract/error.ts';
import { openExistingPostgresStore, openPostgresStore } from '../../src/stores/postgres/create.ts';
import { migrations } from '../../src/stores/postgres/migrations.ts';
import { createTestDatabase, createTestSchema, getServerUrl, runSql } from '../support/postgres/database.ts';
import { adminPassword } from '../support/postgres/server.ts';
import { createActors } from './support/actors.ts';
import { createTestAuthenticator, testAuthenticator } from './support/authenticator.ts';
import { migrateServer } from './support/migrate-server.ts';
import { createPlace } from './support/postgres.ts';
import { createRunId, createUnit } from './support/units.ts';

const root = createRunId(1);
const actors = createActors();
afterEach(() => actors.end());

async function readError(url: string, options: object = {}): Promise<{ code: string; message: string }> {
  const error = await openPostgresStore({ url, authenticator: testAuthenticator, ...options }).then(
    async (store) => {
      await store.close();
      return null;
    },
    (reason: unknown) => reason,
  );
  if (!isRetinueError(error)) throw new Error(`no RetinueError: ${String(error)}`);
  expect(`${error.message} ${error.stack} ${JSON.stringify(error.info)}`).not.toContain(adminPassword);
  return { code: error.code, message: error.message };
}

describe('what is wrong is said in one sentence, as a wrong usage, and without the password', () => {
  it.each([
    ['a wrong password', { password: 'wrong-password' }, /refused the password of user `retinue admin`/],
    ['an unknown user', { username: 'nobody-here' }, /refused the password of user `nobody-here`/],
    ['a missing database', { pathname: '/no-such' }, /no database `no-such`.*createdb no-such/],
    ['a wrong port', { port: '1' }, /no PostgreSQL server answers at 127\.0\.0\.1:1;/],
    ['an unknown host', { hostname: 'no.such.host.invalid' }, /host `no\.such\.host\.invalid` .* cannot be found/],
    ['TLS that the server does not have', { search: '?sslmode=require' }, /has no TLS/],
    ['a certificate that cannot be read', { search: '?sslmode=verify-full&sslrootcert=/no/file' }, /\/no\/file.* cannot be read/],
    ['a time limit that is none', { search: '?connect_timeout=soon' }, /`connect_timeout` is not a whole number of seconds/],
    ['an unknown channel binding', { search: '?channel_binding=requird' }, /did you mean `require`/],
    ['channel binding without TLS', { search: '?channel_binding=require' }, /needs an encrypted connection; add `sslmode=require`/],
    ['channel binding that cannot be', { search: '?channel_binding=require&sslmode=require' }, /has no TLS/],
    ['an unknown parameter', { search: '?sslmod=require' }, /unknown parameter `sslmod`; did you mean `sslmode`/],
  ])('%s', async (_, change, message) => {
    const url = Object.assign(new URL(await getServerUrl()), change);
    const error = await readError(url.href);
    expect(error).toEqual({ code: 'usage', message: expect.stringMatching(message) });
    expect(error.message).not.toContain('\n');
  });

  it('a password that is asked for and missing', async () => {
    const url = new URL(await getServerUrl());
    url.password = '';
    expect(await readError(url.href, { env: { HOME: '/nowhere' } })).toEqual({
      code: 'usage',
      message: expect.stringContaining('asks for a password'),
    });
    const store = await openPostgresStore({ url: url.href, schema: 'never', env: { PGPASSWORD: adminPassword }, access: 'create' });
    await store.close();
    await runSql(await getServerUrl(), 'DROP SCHEMA never CASCADE');
  });

  it('another encoding than UTF-8', async () => {
    const server = await getServerUrl();
    await runSql(server, "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    onTestFinished(async () => void (await runSql(server, 'DROP DATABASE latin')));
    expect(await readError(server.replace(/\/[^/]*$/, '/latin'))).toEqual({
      code: 'usage',
      message: expect.stringMatching(/encoding LATIN1.*createdb --encoding=UTF8/),
    });
  });

  it('no right to create the tables, and no right to use them', async () => {
    const database = await createTestDatabase();
    onTestFinished(() => database.remove());
    const user = `user_${database.name}`;
    await database.sql(`CREATE USER ${user} PASSWORD 'x y z'`);
    onTestFinished(async () => void (await runSql(await getServerUrl(), `DROP USER ${user}`)));
    const url = new URL(database.url);
    url.username = user;
    url.password = 'x y z';
    expect(await readError(url.href)).toEqual({
      code: 'usage',
      message: expect.stringMatching(/may not create .*GRANT CREATE ON DATABASE/),
    });
    await (await openPostgresStore({ url: database.url })).close();
    expect(await readError(url.href)).toMatchObject({ code: 'usage' });
    // With the right to read alone, one can look.
    await database.sql(
      `GRANT USAGE ON SCHEMA retinue TO ${user}; GRANT SELECT ON ALL TABLES IN SCHEMA retinue TO ${user}; GRANT SELECT ON ALL SEQUENCES IN SCHEMA retinue TO ${user}`,
    );
    const reader = await openPostgresStore({ url: url.href, authenticator: testAuthenticator });
    onTestFinished(() => reader.close());
    expect([await reader.runs({}), await reader.facts({}), await reader.cursor()]).toEqual([[], [], { newest: '0', behind: null }]);
    await expect(reader.open()).rejects.toMatchObject({ code: 'store_io', message: expect.stringContaining('the right to') });
    await database.sql(`REASSIGN OWNED BY ${user} TO CURRENT_USER; DROP OWNED BY ${user}`);
  });

  it('tables of a newer version', async () => {
    const place = await createPlace();
    await (await place.open()).close();
    await place.sql('INSERT INTO $s.migrations (version) VALUES (99)');
    expect(await readError(place.url, { schema: place.schema })).toEqual({
      code: 'store_newer',
      message: expect.stringMatching(/version 99.*Update Retinue/),
    });
  });

  it('another key for orders than the other processes have', async () => {
    const place = await createPlace();
    const { store, owner } = await place.openOwner();
    await store.append(owner, [createUnit(root, root, 1)]);
    const other = await place.open({ authenticator: createTestAuthenticator(2) });
    expect(await other.runs({})).toHaveLength(1);
    await expect(other.open()).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('RETINUE_ORDER_KEY') });
    const order = { id: 'o', runId: root, rootId: root, kind: 'cancel', by: 'me', text: '', at: '2026-01-01T00:00:00.000Z' } as const;
    await expect(other.order(order)).rejects.toMatchObject({ code: 'usage' });
    const adopter = await place.open({ authenticator: createTestAuthenticator(2), adopt: true });
    await store.release(owner);
    expect(await adopter.claim(await adopter.open(), root)).toMatchObject({ ok: true });
    expect(await adopter.findFaults()).toEqual([]);
  });
});

describe('the tables', () => {
  it('are created by one of many processes that start at once', { timeout: 120_000 }, async () => {
    const place = await createPlace();
    const others = Array.from({ length: 5 }, () => actors.start(place.url, { options: { schema: place.schema } }));
    await Promise.all(others.map((actor) => actor.call('wakeUps')));
    const own = Array.from({ length: 4 }, () => place.open());
    await Promise.all(others.map((actor) => actor.call('connect')));
    await Promise.all([...own, ...others.map((actor) => actor.call('open'))]);
    expect(await place.sql('SELECT count(*)::int AS owners FROM $s.owners')).toEqual([{ owners: 5 }]);
  });

  it('are not created by what only reads', async () => {
    const place = await createTestSchema();
    expect(await openExistingPostgresStore({ url: place.url, schema: place.schema })).toBeNull();
    expect(await place.sql("SELECT to_regnamespace('$s') AS found")).toEqual([{ found: null }]);
  });

  it('may be put into a schema that exists already', async () => {
    const place = await createPlace();
    await place.sql('CREATE SCHEMA $s');
    await (await place.open()).close();
  });

  it.each(['SIGKILL', 'error'] as const)(
    'have only complete steps after a migration was interrupted by %s, and the next one completes it',
    async (how) => {
      const place = await createPlace();
      await (await place.open()).close();
      const actor = actors.start(place.url, { options: { schema: place.schema } });
      await expect(actor.call('migrateServer', how)).rejects.toThrow(how === 'error' ? 'broken step' : 'the process ended');
      await actor.signal('SIGKILL');
      const readState = () =>
        place.sql(
          "SELECT to_regclass('$s.whole') IS NOT NULL AS whole, to_regclass('$s.half') IS NOT NULL AS half, (SELECT max(version) FROM $s.migrations) AS version",
        );
      expect(await readState()).toEqual([{ whole: true, half: false, version: migrations.length + 1 }]);
      await migrateServer(place.url, place.schema, 'complete');
      expect(await readState()).toEqual([{ whole: true, half: true, version: migrations.length + 2 }]);
      // This version of the program does not know these steps.
      await expect(place.open()).rejects.toMatchObject({ code: 'store_newer' });
    },
  );

  it('that two processes migrate at once get each step once', { timeout: 120_000 }, async () => {
    const place = await createPlace();
    const options = { schema: place.schema };
    const both = [actors.start(place.url, { options }), actors.start(place.url, { options })];
    await Promise.all(both.map((actor) => actor.call('wakeUps')));
    await Promise.all([
      ...both.map((actor) => actor.call('migrateServer', 'complete')),
      migrateServer(place.url, place.schema, 'complete'),
    ]);
    expect(await place.sql('SELECT version FROM $s.migrations ORDER BY version')).toEqual(
      Array.from({ length: migrations.length + 2 }, (_, index) => ({ version: index + 1 })),
    );
  });
});

it('shows the facts of a dump that was restored on another server, and cursors from before start anew', async () => {
  const place = await createPlace();
  const { store, owner } = await place.openOwner();
  for (let seq = 1; seq <= 3; seq++) await store.append(owner, [createUnit(root, root, seq)]);
  const before = await store.facts({ rootId: root });
  await store.close();
  // The other server had got further.
  await place.sql('UPDATE $s.facts SET xid = (xid::text::bigint + 1000000)::text::xid8');
  const moved = await place.openOwner();
  const facts = await moved.store.facts({ rootId: root });
  // Others use the same server: their transactions delay what a reader of all trees sees.
  await expect.poll(() => moved.store.facts({}), { timeout: 30_000 }).toEqual(facts);
  expect(facts.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  expect((await moved.store.cursor(before[0]?.position)).behind).toBeNull();
  expect((await moved.store.cursor(facts[0]?.position)).behind).toBe(2);
  await moved.store.claim(moved.owner, root);
  await moved.store.append(moved.owner, [createUnit(root, root, 4)]);
  const later = async () => (await moved.store.facts({ after: facts[2]?.position as string })).map(({ seq }) => seq);
  await expect.poll(later, { timeout: 30_000 }).toEqual([4]);
});
