// A database that came with the folder, against the real program.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { startServer } from '../mcp/support.ts';
import { restoreVersion6 } from '../stores/support/earlier-tables.ts';
import { createPlace, type Place } from './support-process.ts';

const script = { runs: [{ steps: [{ calls: [{ tool: 'bash', args: { command: 'touch made' } }] }, { text: 'done' }] }] };
const hanging = { runs: [{ steps: [{ hang: 'start' }] }] };

function put(place: Place, path: string, content: string): string {
  const file = join(place.folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

/** Starts a run and kills its process while it asks its model. Continued, it gets the answers of the script. */
async function killed(place: Place, ...args: string[]): Promise<void> {
  const file = join(place.folder, 'script.json');
  const script = readFileSync(file);
  writeFileSync(file, JSON.stringify(hanging));
  const running = place.start('run', ...args, 'go');
  await place.facts((facts) => facts.some(({ type }) => type === 'model.asked'));
  running.process.kill('SIGKILL');
  await running.finished;
  writeFileSync(file, script);
}

/** The same bytes in other files, as a clone or an archive brings them. */
function cloned(place: Place): void {
  for (const name of ['retinue.db', 'retinue.db-wal']) {
    const file = join(place.folder, '.retinue', name);
    if (!existsSync(file)) continue;
    copyFileSync(file, `${file}.new`);
    renameSync(`${file}.new`, file);
  }
}

const endless = { runs: [{ times: 'any', steps: [{ text: 'done' }] }] };

function change(place: Place, sql: string): void {
  using db = new DatabaseSync(join(place.folder, '.retinue', 'retinue.db'));
  db.exec(sql);
}

/** Every file of the state folder with its content. */
function snapshot(place: Place): Record<string, string> {
  const folder = join(place.folder, '.retinue');
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'latin1')]));
}

/** Puts a file beside the database that SQLite would take over: it removes all facts. Returns its path. */
function createPlanted(place: Place, suffix: string): string {
  const own = join(place.folder, '.retinue', 'retinue.db');
  const copy = join(place.folder, 'copy.db');
  copyFileSync(own, copy);
  const db = new DatabaseSync(copy);
  if (suffix === '-wal') db.exec('DELETE FROM facts');
  else db.exec('PRAGMA journal_mode = DELETE; BEGIN; DELETE FROM facts; PRAGMA cache_spill = 1; PRAGMA cache_size = 1; DELETE FROM blobs');
  copyFileSync(copy + suffix, own + suffix);
  db.close();
  for (const name of ['', '-wal', '-shm', '-journal']) rmSync(copy + name, { force: true });
  return own + suffix;
}

async function database(place: Place): Promise<{ state: string; found: string }> {
  const checks = JSON.parse((await place.run('doctor', '--json')).out) as { name: string; state: string; found: string }[];
  return checks.find(({ name }) => name === 'database') as { state: string; found: string };
}

describe('a database from another machine', () => {
  it('can be read, and its runs are resumed only after --adopt', async () => {
    using place = createPlace(script);
    await killed(place, '--allow', 'bash:touch made', '--allow', 'network');
    expect(await database(place)).toMatchObject({ state: 'ok' });
    cloned(place);
    expect(await database(place)).toMatchObject({ state: 'warning', found: expect.stringContaining('you did not create it') });
    const before = (await place.run('logs', 'last', '--json')).out;
    for (const words of [[], ['last'], ['--json']]) {
      const refused = await place.run('resume', ...words);
      expect(refused).toMatchObject({ code: 2, out: '' });
      for (const said of ['may have come with the folder', 'rights', 'retinue ps', 'retinue show ID', 'Add --adopt'])
        expect(refused.err).toContain(said);
    }
    expect((await place.run('logs', 'last', '--json')).out).toBe(before);
    const shown = (await place.run('show', 'last')).out;
    expect(shown).toContain('allow bash:touch made (command line)');
    expect(shown).toContain('allow network (command line)');
    expect((await place.run('resume', '--adopt')).code).toBe(0);
    expect(existsSync(join(place.folder, 'made'))).toBe(true);
    expect(await database(place)).toMatchObject({ state: 'ok' });
  });

  it.each([
    ['run', 'again'],
    ['subagent', '--task', 'again'],
    ['resume'],
    ['message', 'last', 'and?'],
    ['cancel', 'last'],
    ['pause', 'last'],
    ['approve', 'last'],
    ['refuse', 'last'],
    ['fork', 'last', '--at', '1'],
    ['rm', 'last', '--yes'],
    ['gc', '--older-than', '0s', '--yes'],
    ['memory', 'add', 'title', 'text'],
    ['memory', 'rm', 'title'],
    ['import', 'run.jsonl'],
  ])('every command that writes refuses it and changes nothing: %s %s', async (...command) => {
    using place = createPlace(endless);
    await place.run('run', 'go');
    await place.run('export', 'last', '-o', 'run.jsonl');
    cloned(place);
    const before = snapshot(place);
    expect(await place.run(...command)).toMatchObject({ code: 2, out: '', err: expect.stringContaining('was not created by you') });
    expect(snapshot(place)).toEqual(before);
    // Adopted once, it is the user's own.
    expect((await place.run('memory', 'add', 'title', 'text', '--adopt')).code).toBe(0);
    expect((await place.run('run', 'again')).code).toBe(0);
  });

  it.each([
    ['ps', '--all'],
    ['show', 'last'],
    ['logs', 'last'],
    ['wait', 'last'],
    ['verify'],
    ['replay', 'last'],
    ['export', 'last'],
    ['approve'],
    ['memory', 'list'],
    ['gc', '--older-than', '0s', '--dry-run'],
    ['doctor'],
  ])('commands that only read work and leave nothing behind: %s %s', async (...command) => {
    using place = createPlace(endless);
    await place.run('run', 'go');
    cloned(place);
    const before = snapshot(place);
    expect(await place.run(...command)).toMatchObject({ code: 0 });
    expect(snapshot(place)).toEqual(before);
  });

  it('an MCP client cannot delegate with it, and learns why', async () => {
    using place = createPlace(endless);
    await place.run('run', 'go');
    cloned(place);
    const before = snapshot(place);
    await using server = await startServer({ place });
    const refused = await server.call('delegate', { tasks: [{ task: 'x' }] });
    expect(refused).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('was not created by you on this machine') }],
    });
    expect(snapshot(place)).toEqual(before);
  });

  it('of an older version is read without being upgraded', async () => {
    using place = createPlace(endless);
    await place.run('run', 'go');
    change(
      place,
      `${restoreVersion6()} ALTER TABLE runs DROP COLUMN tag; DROP TABLE consumed; ALTER TABLE orders DROP COLUMN tag; DROP TABLE pins; DROP VIEW sub_sessions; PRAGMA user_version = 1`,
    );
    cloned(place);
    const before = snapshot(place);
    expect((await place.run('logs', 'last')).out).toContain('run.ended');
    expect(await place.run('verify')).toMatchObject({ code: 0 });
    expect(snapshot(place)).toEqual(before);
  });

  it.each(['-wal', '-journal'])('with a planted log or journal is not used (%s)', async (suffix) => {
    using place = createPlace(endless);
    await place.run('run', 'go');
    const planted = createPlanted(place, suffix);
    const before = snapshot(place);
    expect(await place.run('run', 'again')).toMatchObject({ code: 2, err: expect.stringMatching(/not created by you|Move it away/) });
    expect(await place.run('resume')).toMatchObject({ code: 2 });
    expect(snapshot(place)).toEqual(before);
    rmSync(planted);
    expect((await place.run('run', 'again')).code).toBe(0);
    expect((await place.run('verify')).code).toBe(0);
  });

  it('is the user’s own if a killed process left its log', async () => {
    using place = createPlace(script);
    await killed(place);
    expect(existsSync(join(place.folder, '.retinue', 'retinue.db-wal'))).toBe(true);
    expect(await database(place)).toMatchObject({ state: 'ok' });
    expect((await place.run('cancel', 'last')).code).toBe(0);
  });

  it('with a trigger is not even used with --adopt', async () => {
    using place = createPlace(endless);
    await place.run('run', 'go');
    change(
      place,
      `CREATE TRIGGER evil AFTER INSERT ON orders BEGIN UPDATE orders SET text = replace(text, 'refuse', 'approve') WHERE id = new.id; END`,
    );
    cloned(place);
    const before = snapshot(place);
    expect(await place.run('run', '--adopt', 'again')).toMatchObject({ code: 2, err: expect.stringContaining('the trigger `evil`') });
    expect((await place.run('ps', '--all')).code).toBe(0);
    expect(snapshot(place)).toEqual(before);
  });

  it('is adopted once if the decision cannot be saved', async () => {
    using place = createPlace({ runs: [{ steps: [{ text: 'done' }] }] });
    put(place, '.config/retinue/databases', 'a file');
    await killed(place);
    expect((await place.run('resume')).code).toBe(2);
    expect(await place.run('resume', '--adopt')).toMatchObject({
      code: 0,
      err: expect.stringContaining('--adopt will be needed next time'),
    });
  });
});

describe('servers in the recorded definition of an agent', () => {
  const agentIn = (place: Place) => {
    const log = join(place.folder, 'started');
    const servers = `[{ own: { command: sh, args: ["-c", "echo x >> ${log}; exit 1"], env: { MY_TOKEN: canary-value } } }]`;
    const file = put(place, '.config/retinue/agents/mine.md', `---\nname: mine\ndescription: x\nmcpServers: ${servers}\n---\nYou work.\n`);
    return { file, starts: () => readFileSync(log, 'utf8').length / 2 };
  };
  const slow = { runs: [{ steps: [{ text: 'done' }] }] };

  it('are started again if the agent is unchanged, and are shown before', async () => {
    using place = createPlace(slow);
    const { starts } = agentIn(place);
    await killed(place, '--agent', 'mine');
    const before = starts();
    const shown = (await place.run('show', 'last')).out;
    expect(shown).toContain('own: {"command":"sh","args":["-c","echo x >>');
    const json = JSON.parse((await place.run('show', 'last', '--json')).out);
    expect(json.servers.own).toMatchObject({ command: 'sh', env: ['MY_TOKEN'] });
    expect(shown + JSON.stringify(json)).not.toContain('canary-value');
    expect((await place.run('resume')).code).toBe(0);
    expect(starts()).toBeGreaterThan(before);
  });

  it.each(['gone', 'changed'])('are not started if its file is %s', async (what) => {
    using place = createPlace(slow);
    const { file, starts } = agentIn(place);
    await killed(place, '--agent', 'mine');
    const before = starts();
    if (what === 'gone') rmSync(file);
    else writeFileSync(file, '---\nname: mine\ndescription: x\n---\nYou work.\n');
    expect((await place.run('resume', '--adopt')).code).toBe(0);
    expect([before > 0, starts()]).toEqual([true, before]);
  });
});
