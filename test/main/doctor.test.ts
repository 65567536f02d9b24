import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { Check } from '../../src/cli/io.ts';
import { examine } from '../../src/main/doctor.ts';
import { ollamaHost } from '../../src/main/doctor-looks.ts';
import { adopt } from '../../src/main/origin.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { parseWriteLocks } from '../../src/stores/sqlite/probe.ts';
import { agentText, createPlace, type TestPlace } from './place.ts';

const nobody = { OLLAMA_HOST: 'http://127.0.0.1:9' };

async function look(place: TestPlace, env: Record<string, string> = {}): Promise<Record<string, Check>> {
  const checks = await examine({ limits: {}, rules: [] }, { cwd: place.workspace, env: { ...place.env, ...nobody, ...env } });
  return Object.fromEntries(checks.map((check) => [check.name, check]));
}

describe('doctor', () => {
  it('finds the ground of an empty workspace sound', async () => {
    using place = createPlace();
    const checks = await look(place);
    expect(Object.values(checks).filter(({ state }) => state === 'broken')).toEqual([]);
    expect(checks).toMatchObject({
      node: { state: 'ok', found: process.versions.node, advice: null },
      sqlite: { state: 'ok' },
      database: { state: 'ok', found: expect.stringContaining('is not there yet') },
      model: { state: 'warning', advice: expect.stringContaining('RETINUE_MODEL') },
      keys: { state: 'warning' },
      ollama: { state: 'warning', found: 'does not answer at 127.0.0.1:9' },
      git: { state: 'warning' },
      'other agents': { state: 'ok', found: 'none on PATH' },
    });
    expect(() => statSync(join(place.workspace, '.retinue'))).toThrow();
  });

  it('says what is broken, and looks at the rest all the same', async () => {
    using place = createPlace();
    place.write('work/retinue.config.json', '{"modle": 1}');
    place.write('work/.retinue/retinue.db', 'no database at all '.repeat(100));
    const checks = await look(place);
    expect(checks.configuration).toMatchObject({ state: 'broken', found: expect.stringMatching(/:1:2: unknown key `modle`/) });
    expect(checks.database).toMatchObject({ state: 'broken', found: expect.stringContaining('retinue.db') });
    expect(checks.node?.state).toBe('ok');
  });

  it('a refused agent is broken in our folder, and a warning in another’s', async () => {
    using place = createPlace();
    place.write('work/.claude/agents/x.md', agentText('x', 'hooks: {}'));
    expect((await look(place)).agents).toMatchObject({ state: 'warning', found: expect.stringContaining('x.md:4: `hooks`') });
    place.write('work/.retinue/agents/y.md', agentText('y', 'hooks: {}'));
    expect((await look(place)).agents).toMatchObject({ state: 'broken', found: expect.stringContaining('y.md:4: `hooks`') });
  });

  it('names keys, never their values', async () => {
    using place = createPlace();
    const secret = 'sk-canary-0123456789abcdef';
    place.write('own/config.json', { model: 'mine/x', providers: { mine: { kind: 'openai', apiKeyEnv: 'MY_KEY' } } });
    const before = await look(place);
    expect(before.model).toMatchObject({ state: 'warning', found: expect.stringContaining('MY_KEY is not set') });
    const checks = await look(place, {
      ANTHROPIC_API_KEY: secret,
      MY_KEY: secret,
      OPENAI_API_KEY: ' ',
      OLLAMA_HOST: `http://u:${secret}@127.0.0.1:9`,
    });
    expect(checks.keys).toMatchObject({ state: 'ok', found: 'ANTHROPIC_API_KEY, MY_KEY' });
    expect(checks.model?.state).toBe('ok');
    expect(JSON.stringify(checks)).not.toContain('canary');
  });

  it('says what is not trusted', async () => {
    using place = createPlace();
    const path = place.write('work/retinue.config.json', { limits: { maxTurns: 500 } });
    expect(await look(place)).toMatchObject({
      workspace: {
        state: 'warning',
        found: expect.stringContaining(`not trusted: ${path}`),
        advice: expect.stringContaining('retinue trust'),
      },
      configuration: { state: 'warning', found: expect.stringContaining('limits.maxTurns') },
    });
  });

  it('finds programs on the PATH', async () => {
    using place = createPlace();
    for (const name of ['git', 'bwrap', 'rg', 'claude']) chmodSync(place.write(`bin/${name}`, '#!/bin/sh\nexit 1\n'), 0o755);
    place.write('bin/codex', 'not executable');
    mkdirSync(join(place.folder, 'bin', 'gemini'));
    const checks = await look(place, { PATH: `relative:${join(place.folder, 'bin')}` });
    expect(checks['other agents']?.found).toBe('claude on PATH');
    expect([checks.git, checks.ripgrep].map((check) => check?.state)).toEqual(['ok', 'ok']);
  });

  describe.runIf(process.platform === 'linux')('the sandbox', () => {
    const refusing = (place: TestPlace) => {
      chmodSync(place.write('bin/bwrap', '#!/bin/sh\necho "bwrap: setting up uid map: Permission denied" >&2\nexit 1\n'), 0o755);
      return { PATH: `${join(place.folder, 'bin')}:/usr/bin:/bin` };
    };

    it('one that works is named, with its limits', async () => {
      using place = createPlace();
      const { sandbox } = await look(place, { PATH: '/usr/bin:/bin' });
      expect(sandbox).toMatchObject({
        state: 'ok',
        found: expect.stringMatching(/^bubblewrap \d+\.\d+\.\d+ works; 512 processes and \d+ MiB/),
      });
    });

    it('switched off it is a warning, though it works', async () => {
      using place = createPlace();
      place.write('own/config.json', { sandbox: 'off' });
      const { sandbox } = await look(place, { PATH: '/usr/bin:/bin' });
      expect(sandbox).toMatchObject({ state: 'warning', found: expect.stringMatching(/^off \(.*config\.json\), though bubblewrap/) });
    });

    it('without one, and refused by the kernel: how to get it', async () => {
      using place = createPlace();
      expect((await look(place)).sandbox).toMatchObject({
        state: 'warning',
        advice: expect.stringContaining('apt-get install bubblewrap'),
      });
      const refused = (await look(place, refusing(place))).sandbox;
      expect(refused).toMatchObject({
        state: 'warning',
        found: expect.stringContaining('uid map'),
        advice: expect.stringContaining('AppArmor'),
      });
    });

    it('required and not there is broken', async () => {
      using place = createPlace();
      place.write('own/config.json', { sandbox: 'required' });
      expect((await look(place)).sandbox).toMatchObject({ state: 'broken' });
      expect((await look(place, refusing(place))).sandbox).toMatchObject({ state: 'broken' });
    });
  });

  it('asks Ollama, and does not wait long for it', async () => {
    using place = createPlace();
    const silent = createServer((request, response) => {
      if (request.url === '/api/version' && request.headers.host?.startsWith('localhost')) response.end('{"version":"0.9.1"}');
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    try {
      expect((await look(place, { OLLAMA_HOST: `localhost:${port}` })).ollama?.found).toBe(`0.9.1 answers at localhost:${port}`);
      expect((await look(place, { OLLAMA_HOST: `127.0.0.1:${port}`, RETINUE_MODEL: 'ollama/x' })).ollama).toMatchObject({
        state: 'warning',
        advice: expect.stringContaining('the model needs it'),
      });
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  });
});

describe('a database that somebody has locked', () => {
  it('is told with the process that holds it', async () => {
    using place = createPlace();
    const path = join(place.workspace, '.retinue', 'retinue.db');
    await (await openSqliteStore({ path })).close();
    const holder = new DatabaseSync(path);
    try {
      adopt(place.env, path);
      expect((await look(place)).database).toMatchObject({ state: 'ok', found: `${path} opens` });
      holder.exec('BEGIN IMMEDIATE');
      const { database } = await look(place);
      expect(database?.state).toBe('warning');
      if (process.platform === 'linux') expect(database?.found).toMatch(/locked for writing by (process \d+|another process)/);
      holder.exec('ROLLBACK');
    } finally {
      holder.close();
    }
  });

  it('is found in the list of locks by the byte that writers lock', () => {
    const text = [
      '1: POSIX  ADVISORY  WRITE 4711 fd:01:77 120 120',
      '2: POSIX  ADVISORY  READ  4712 fd:01:77 124 124',
      '3: POSIX  ADVISORY  WRITE 4713 fd:01:78 120 120',
      '4: OFDLCK ADVISORY  WRITE -1 fd:01:77 120 120',
      '5: POSIX  ADVISORY  WRITE 4714 00:2f:77 0 EOF',
      '5: -> POSIX  ADVISORY  WRITE 4715 fd:01:77 120 120',
    ].join('\n');
    expect(parseWriteLocks(text, 77)).toEqual([4711, 4714]);
  });
});

describe('OLLAMA_HOST', () => {
  it.each([
    [undefined, '127.0.0.1:11434'],
    ['', '127.0.0.1:11434'],
    ['box', 'box:11434'],
    ['0.0.0.0', '127.0.0.1:11434'],
    ['box:99', 'box:99'],
    ['https://box.example', 'box.example'],
    ['http://box:99/', 'box:99'],
    ['::: nonsense', '127.0.0.1:11434'],
  ])('%s is %s', (given, host) => {
    expect(ollamaHost(given === undefined ? {} : { OLLAMA_HOST: given }).host).toBe(host);
  });
});
