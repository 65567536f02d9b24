// The commands on a PostgreSQL database, with the real program in real processes.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Question, RunView } from '../../src/api/api.ts';
import type { StoredFact } from '../../src/contract/fact.ts';
import type { Outcome } from '../../src/contract/outcome.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres/database.ts';
import { adminPassword } from '../support/postgres/server.ts';
import { createPlace, type Place } from './support-process.ts';

interface ServerPlace extends Place {
  database: TestDatabase;
}

async function createServerPlace(script: object, more: Record<string, string> = {}): Promise<ServerPlace> {
  const database = await createTestDatabase();
  onTestFinished(() => database.remove());
  const place = createPlace(script, { RETINUE_DB: database.url, ...more });
  onTestFinished(() => place[Symbol.dispose]());
  return { ...place, database };
}

const tasks = ['a', 'b'].map((label) => ({ task: `do ${label}`, label, agent: 'explore' }));
const list = { calls: [{ tool: 'list', args: { path: '.' } }] };
const createDelegation = (lastStep: object) => ({
  runs: [
    {
      when: { agent: 'general' },
      steps: [{ calls: [{ tool: 'delegate', args: { tasks } }] }, { expect: { prompt: 'b is done' }, text: 'all done' }],
    },
    { when: { label: 'a' }, steps: [list, { text: 'a is done' }] },
    { when: { label: 'b' }, steps: [list, lastStep] },
  ],
});
const delegation = createDelegation({ text: 'b is done' });

describe('commands on a server', () => {
  it('run, ps, logs, show, replay, verify, export, import, rm and gc work as on a file, and leave no file behind', {
    timeout: 120_000,
  }, async () => {
    const place = await createServerPlace(delegation);
    expect(await place.run('ps')).toMatchObject({ code: 0, err: expect.stringContaining('no live runs') });
    // Looking creates nothing.
    expect(await place.database.sql("SELECT to_regnamespace('retinue') AS found")).toEqual([{ found: null }]);
    expect(await place.run('run', 'go')).toMatchObject({ code: 0, out: 'all done\n' });
    const rows = JSON.parse((await place.run('ps', '--all', '--json')).out) as RunView[];
    expect(rows.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
    const facts = JSON.parse((await place.run('logs', 'last', '--tree', '--json')).out) as StoredFact[];
    expect(facts.filter(({ type }) => type === 'run.ended')).toHaveLength(3);
    expect((await place.run('show', 'last')).out).toContain('completed');
    for (const command of [['replay', 'last'], ['verify'], ['verify', 'last']])
      expect(await place.run(...command), command.join(' ')).toMatchObject({ code: 0 });
    expect(await place.run('export', 'last', '--output', 'tree.jsonl')).toMatchObject({ code: 0 });
    expect(existsSync(join(place.folder, '.retinue', 'retinue.db'))).toBe(false);
    // Into a file and from there into another database on the server.
    const [root] = rows.filter(({ parentId }) => parentId === null) as [RunView];
    expect(await place.run('import', 'tree.jsonl', '--db', 'copy.db')).toMatchObject({ code: 0 });
    const other = await createServerPlace(delegation);
    writeFileSync(join(other.folder, 'tree.jsonl'), readFileSync(join(place.folder, 'tree.jsonl')));
    expect(await other.run('import', 'tree.jsonl')).toMatchObject({ code: 0 });
    expect(JSON.parse((await other.run('logs', root.runId, '--tree', '--json')).out).map(({ hash }: StoredFact) => hash)).toEqual(
      facts.map(({ hash }) => hash),
    );
    expect(await other.run('verify')).toMatchObject({ code: 0 });

    expect(await place.run('rm', root.runId, '--yes')).toMatchObject({ code: 0 });
    expect(await place.database.sql("SELECT count(*)::int AS n FROM retinue.facts WHERE data <> ''")).toEqual([{ n: 0 }]);
    expect(await place.run('gc', '--older-than', '1s', '--yes')).toMatchObject({ code: 0 });
    expect(await place.run('verify')).toMatchObject({ code: 0 });
  });

  it('cancel, message, pause and approve reach a run of another process', { timeout: 120_000 }, async () => {
    const write = { calls: [{ tool: 'write', args: { path: 'a.txt', content: 'a' } }] };
    const place = await createServerPlace({ runs: [{ steps: [write, { expect: { prompt: 'and hurry' }, text: 'done' }] }] });
    writeFileSync(join(place.folder, 'slow.json'), JSON.stringify({ runs: [{ steps: [{ hang: 'start' }] }] }));
    writeFileSync(join(place.folder, 'retinue.config.json'), JSON.stringify({ rules: ['ask write'] }));
    const running = place.start('run', '--ask', '10m', 'go');
    const [question] = await place.until<Question[]>(['approve'], (found) => found.length === 1);
    expect(await place.run('message', (question as Question).runId, 'and hurry')).toMatchObject({ code: 0 });
    expect(await place.run('approve', (question as Question).id)).toMatchObject({
      code: 0,
      out: expect.stringContaining('write approved'),
    });
    expect(await running.finished).toMatchObject({ code: 0, out: 'done\n' });
    expect(existsSync(join(place.folder, 'a.txt'))).toBe(true);

    const slow = place.start('run', '--model', 'script/slow.json', 'go');
    const [row] = await place.until<RunView[]>(['ps'], (rows) => rows[0]?.status === 'running');
    const before = performance.now();
    expect(await place.run('cancel', (row as RunView).runId)).toMatchObject({ code: 0 });
    expect(await slow.finished).toMatchObject({ code: 130 });
    expect(performance.now() - before).toBeLessThan(30_000);
    expect(await place.run('replay', 'last')).toMatchObject({ code: 0 });
  });

  it('resume continues a tree after kill -9, repeats nothing, and only once', { timeout: 120_000 }, async () => {
    const place = await createServerPlace(createDelegation({ hang: 'start' }));
    const running = place.start('run', 'go');
    await place.facts(
      (found) => found.some(({ type }) => type === 'child.ended') && found.filter(({ type }) => type === 'model.asked').length === 5,
    );
    running.process.kill('SIGKILL');
    await running.finished;
    const before = JSON.parse((await place.run('logs', 'last', '--tree', '--json')).out) as StoredFact[];
    writeFileSync(join(place.folder, 'script.json'), JSON.stringify(delegation));
    const both = await Promise.all([place.run('resume', '--json'), place.run('resume', '--json')]);
    expect(both.map(({ code }) => code).sort()).toSatisfy((codes: number[]) => codes.join() === '0,0' || codes.join() === '0,1');
    const outcomes = both.flatMap(({ out }) => (out === '' ? [] : (JSON.parse(out) as Outcome[])));
    expect(outcomes.filter(({ summary }) => summary === 'all done').length).toBeGreaterThanOrEqual(1);
    const after = JSON.parse((await place.run('logs', 'last', '--tree', '--json')).out) as StoredFact[];
    expect(after.slice(0, before.length).map(({ hash }) => hash)).toEqual(before.map(({ hash }) => hash));
    expect(after.filter(({ type }) => type === 'run.ended')).toHaveLength(3);
    expect(after.filter(({ type }) => type === 'model.answered')).toHaveLength(6);
    expect(await place.run('verify')).toMatchObject({ code: 0 });
  });

  it('a detached run is followed, and memories and scratchpads are on the server', { timeout: 120_000 }, async () => {
    const steps = [
      { calls: [{ tool: 'scratchpad', args: { action: 'add', text: 'noted' } }] },
      { calls: [{ tool: 'scratchpad', args: { action: 'read' } }] },
      { expect: { prompt: 'noted' }, text: 'done' },
    ];
    const place = await createServerPlace({ runs: [{ steps }] });
    expect(await place.run('memory', 'add', 'build', 'use make')).toMatchObject({ code: 0 });
    expect((await place.run('memory', 'list')).out).toContain('use make');
    expect(await place.database.sql('SELECT title FROM retinue.memories')).toEqual([{ title: 'build' }]);
    const detached = await place.run('run', '--detach', '--json', '--agent', 'dex/explorer', '--dialect', 'dex', 'go');
    const { runId } = JSON.parse(detached.out || '{}') as { runId?: string };
    expect(detached).toMatchObject({ code: 0 });
    const { out } = await place.run('logs', runId as string, '--follow');
    expect(out).toContain('run.ended');
    expect((await place.run('show', runId as string)).out).toContain('completed');
    expect(await place.database.sql('SELECT text FROM retinue.scratch')).toEqual([{ text: 'noted' }]);
  });
});

describe('the password', () => {
  it('is in no output, no file and no child process', { timeout: 120_000 }, async () => {
    const steps = [
      {
        calls: [
          { tool: 'bash', args: { command: `env; cat /proc/self/environ; echo ${adminPassword.slice(0, 4)}${adminPassword.slice(4)}` } },
        ],
      },
      { text: 'done' },
    ];
    const place = await createServerPlace({ runs: [{ steps }] }, { RETINUE_DB: '' });
    const flags = ['--db', place.database.url];
    expect(await place.run('run', '--allow', 'bash', ...flags, 'go')).toMatchObject({ code: 0 });
    const outputs = await Promise.all([
      place.run('config', ...flags),
      place.run('config', '--json', ...flags),
      place.run('doctor', ...flags),
      place.run('ps', '--all', '--json', ...flags),
      place.run('logs', 'last', '--json', ...flags),
      place.run('show', 'last', '--json', ...flags),
    ]);
    const secrets = [adminPassword, new URL(place.database.url).password];
    for (const { out, err } of outputs) for (const secret of secrets) expect(out + err).not.toContain(secret);
    expect(outputs[0]?.out).toMatch(/^db +postgres:\/\/retinue%20admin@127\.0\.0\.1:\d+\/test_\w+ +--db$/m);
    const stored = await place.database.sql<{ data: string }>('SELECT data FROM retinue.facts');
    for (const { data } of stored) for (const secret of secrets) expect(data).not.toContain(secret);
  });

  it('may come from PGPASSWORD or a password file', { timeout: 120_000 }, async () => {
    const place = await createServerPlace({ runs: [{ steps: [{ text: 'done' }] }] });
    const url = new URL(place.database.url);
    url.password = '';
    expect(await place.run('run', '--db', url.href, 'go')).toMatchObject({ code: 2, err: expect.stringContaining('asks for a password') });
    const escaped = adminPassword.replace(/[:\\]/g, '\\$&');
    const file = join(place.folder, '.pgpass');
    writeFileSync(file, `# a comment\nelsewhere:*:*:*:no\n127.0.0.1:*:*:retinue admin:${escaped}\n`, { mode: 0o600 });
    expect(await place.run('run', '--db', url.href, 'go')).toMatchObject({ code: 0, out: 'done\n' });
  });
});

describe('what is wrong', () => {
  it.each([
    ['postgres://127.0.0.1:1/x', /no PostgreSQL server answers/],
    ['postgres://x:hun?ter22@localhost/x', /does not have the form `postgres:\/\/user@host:5432\/database`/],
    ['postgres:x', /does not have the form/],
    ['postgresql://x:hunter22@localhost/x?sslmode=prefer', /may fall back/],
    ['mysql://x:hunter22@localhost/x', /does not begin with `postgres:\/\/`/],
  ])('%s: one sentence and exit code 2', async (url, message) => {
    using place = createPlace({ runs: [] });
    for (const command of [['ps'], ['run', 'go'], ['resume'], ['memory', 'list'], ['verify']]) {
      const { code, out, err } = await place.run(...command, '--db', url);
      expect([code, out, err.trim().split('\n').length], `${command} ${err}`).toEqual([2, '', 1]);
      expect(err).toMatch(message);
      expect(err).not.toMatch(/hun.?ter22|ter22/);
    }
    const doctor = await place.run('doctor', '--db', url);
    expect(doctor.out).toMatch(/^✗ database/m);
    expect(doctor.out + doctor.err).not.toMatch(/ter22/);
  });

  it('a workspace that is not trusted chooses no database, and no file contains a password', async () => {
    using place = createPlace({ runs: [{ steps: [{ text: 'done' }] }] });
    const file = join(place.folder, 'retinue.config.json');
    writeFileSync(file, JSON.stringify({ db: 'postgres://me@127.0.0.1:1/x' }));
    const { code, err } = await place.run('run', 'go');
    expect([code, err]).toEqual([0, expect.stringContaining('not trusted: `db`')]);
    expect(existsSync(join(place.folder, '.retinue', 'retinue.db'))).toBe(true);
    expect(await place.run('trust', '--yes')).toMatchObject({ code: 0 });
    expect(await place.run('run', 'go')).toMatchObject({
      code: 2,
      err: expect.stringContaining('no PostgreSQL server answers at 127.0.0.1:1'),
    });
    writeFileSync(file, JSON.stringify({ db: 'postgres://me:hunter22@127.0.0.1:1/x' }));
    const refused = await place.run('ps');
    expect(refused).toMatchObject({ code: 2, err: expect.stringMatching(/`db` must not contain a password/) });
    expect(refused.err).not.toContain('hunter22');
  });
});
