// Unfinished runs of a database that came with the folder, against the real program.
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoredFact } from '../../src/contract/fact.ts';
import { createPlace, type Place } from './support-process.ts';

const script = { runs: [{ steps: [{ delayMs: 3000, calls: [{ tool: 'bash', args: { command: 'touch made' } }] }, { text: 'done' }] }] };

function put(place: Place, path: string, content: string): string {
  const file = join(place.folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

async function killed(place: Place, ...args: string[]): Promise<void> {
  const running = place.start('run', ...args, 'go');
  await place.until<StoredFact[]>(['logs', 'last'], (facts) => facts.some(({ type }) => type === 'model.asked'));
  running.process.kill('SIGKILL');
  await running.finished;
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
      for (const said of ['may have come with the folder', 'rights', 'retinue ps', 'retinue show ID', 'retinue resume --adopt'])
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

  it('needs no --adopt if nothing is unfinished', async () => {
    using place = createPlace({ runs: [{ times: 'any', steps: [{ text: 'done' }] }] });
    await place.run('run', 'go');
    copyFileSync(join(place.folder, '.retinue/retinue.db'), join(place.folder, 'other.db'));
    renameSync(join(place.folder, 'other.db'), join(place.folder, '.retinue/retinue.db'));
    expect(await place.run('resume')).toMatchObject({ code: 0, err: 'retinue: there is nothing to resume\n' });
    expect((await place.run('run', 'again')).code).toBe(0);
  });

  it('is adopted once if the decision cannot be saved', async () => {
    using place = createPlace({ runs: [{ steps: [{ delayMs: 3000, text: 'done' }] }] });
    put(place, '.config/retinue/databases', 'a file');
    await killed(place);
    expect((await place.run('resume')).code).toBe(2);
    expect(await place.run('resume', '--adopt')).toMatchObject({
      code: 0,
      err: expect.stringContaining('--adopt will be needed again next time'),
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
  const slow = { runs: [{ steps: [{ delayMs: 3000, text: 'done' }] }] };

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
