// A worker and the commands for queues that cannot start: one sentence and exit code 2.
import { expect, it, onTestFinished } from 'vitest';
import { createTestDatabase, getServerUrl, runSql, type TestDatabase } from '../support/postgres/database.ts';
import { createPlace, type Place } from './support-process.ts';

async function createServerPlace(): Promise<Place & { database: TestDatabase }> {
  const database = await createTestDatabase();
  onTestFinished(() => database.remove());
  const place = createPlace({ runs: [{ times: 'any', steps: [{ text: 'done' }] }] }, { RETINUE_DB: database.url });
  onTestFinished(() => place[Symbol.dispose]());
  return { ...place, database };
}

async function expectRefused(place: Place, command: string[], message: RegExp): Promise<void> {
  const { code, out, err } = await place.run(...command);
  expect({ code, out, err }, command.join(' ')).toEqual({ code: 2, out: '', err: expect.stringMatching(message) });
  expect(err.trim().split('\n')).toHaveLength(1);
}

it('without the right to create the schema of the queue, until the owner of the database gives it', { timeout: 120_000 }, async () => {
  const place = await createServerPlace();
  const { database } = place;
  // The tables of runs exist, those of the queue do not.
  expect(await place.run('run', 'go')).toMatchObject({ code: 0 });
  const user = `user_${database.name}`;
  await database.sql(`CREATE USER ${user} PASSWORD 'secret-word'`);
  onTestFinished(async () => {
    await database.sql(`REASSIGN OWNED BY ${user} TO CURRENT_USER; DROP OWNED BY ${user}`);
    await runSql(await getServerUrl(), `DROP USER ${user}`);
  });
  await database.sql(
    `GRANT USAGE ON SCHEMA retinue TO ${user}; GRANT ALL ON ALL TABLES IN SCHEMA retinue TO ${user}; GRANT ALL ON ALL SEQUENCES IN SCHEMA retinue TO ${user}`,
  );
  const url = Object.assign(new URL(database.url), { username: user, password: 'secret-word' }).href;
  const message = new RegExp(`may not create or use the schema \`retinue_queue\`.*CREATE SCHEMA retinue_queue AUTHORIZATION ${user}`);
  for (const command of [['worker'], ['worker', '--json'], ['run', '--queue', 'go'], ['schedule', 'add', '0 0 1 1 *', 'go']])
    await expectRefused(place, [...command, '--db', url], message);
  const { out: sick } = await place.run('doctor', '--db', url);
  expect(sick).toMatch(/^! database queue .*may not create or use the schema `retinue_queue`/m);
  expect(sick).not.toContain('secret-word');

  await database.sql(`CREATE SCHEMA retinue_queue AUTHORIZATION ${user}`);
  const worker = place.start('worker', '--db', url);
  expect(await place.run('run', '--queue', 'go', '--db', url)).toMatchObject({ code: 0, out: 'done\n' });
  worker.process.kill('SIGTERM');
  expect(await worker.finished).toMatchObject({ code: 0 });
  expect((await place.run('doctor', '--db', url)).out).not.toContain('database queue');
});

it('on tables of a newer version, and with a name that no queue can have', { timeout: 120_000 }, async () => {
  const place = await createServerPlace();
  await expectRefused(place, ['worker', '--queue', 'a b'], /`a b` cannot be the name of a queue/);
  await place.database.sql('INSERT INTO retinue.migrations (version) VALUES (99)');
  for (const command of [['worker'], ['worker', '--json'], ['run', '--queue', 'go'], ['queue']])
    await expectRefused(place, command, /have version 99.*Update Retinue/);
});
