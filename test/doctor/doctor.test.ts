import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { adoptDatabase } from '../../src/config/database-origin.ts';
import type { Check } from '../../src/doctor/check.ts';
import { ollamaHost } from '../../src/doctor/probes.ts';
import { runDoctor } from '../../src/doctor/run.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { parseWriteLocks } from '../../src/stores/sqlite/probe.ts';
import { agentText, createTestWorkspace, type TestWorkspace } from '../support/workspace.ts';

const nobody = { OLLAMA_HOST: 'http://127.0.0.1:9' };

async function check(fixture: TestWorkspace, env: Record<string, string> = {}): Promise<Record<string, Check>> {
  const checks = await runDoctor({ limits: {}, rules: [] }, { cwd: fixture.workspace, env: { ...fixture.env, ...nobody, ...env } });
  return Object.fromEntries(checks.map((check) => [check.name, check]));
}

describe('doctor', () => {
  it('finds nothing broken in an empty workspace', async () => {
    using fixture = createTestWorkspace();
    const checks = await check(fixture);
    expect(Object.values(checks).filter(({ state }) => state === 'broken')).toEqual([]);
    expect(checks).toMatchObject({
      node: { state: 'ok', found: process.versions.node, advice: null },
      sqlite: { state: 'ok' },
      database: { state: 'ok', found: expect.stringContaining('does not exist yet') },
      model: { state: 'warning', advice: expect.stringContaining('RETINUE_MODEL') },
      keys: { state: 'warning' },
      ollama: { state: 'warning', found: 'does not answer at 127.0.0.1:9' },
      git: { state: 'warning' },
      'other agents': { state: 'ok', found: 'none on PATH' },
    });
    expect(() => statSync(join(fixture.workspace, '.retinue'))).toThrow();
  });

  it('reports what is broken and still runs the other checks', async () => {
    using fixture = createTestWorkspace();
    fixture.write('work/retinue.config.json', '{"modle": 1}');
    fixture.write('work/.retinue/retinue.db', 'no database at all '.repeat(100));
    const checks = await check(fixture);
    expect(checks.configuration).toMatchObject({ state: 'broken', found: expect.stringMatching(/:1:2: unknown key `modle`/) });
    expect(checks.database).toMatchObject({ state: 'broken', found: expect.stringContaining('retinue.db') });
    expect(checks.node?.state).toBe('ok');
  });

  it('warns about an invalid agent in Claude Code’s folder and in Retinue’s', async () => {
    using fixture = createTestWorkspace();
    fixture.write('work/.claude/agents/x.md', agentText('x', 'env: {}'));
    expect((await check(fixture)).agents).toMatchObject({ state: 'warning', found: expect.stringContaining('x.md:4: `env`') });
    fixture.write('work/.retinue/agents/y.md', agentText('y', 'hooks: {}'));
    expect((await check(fixture)).agents).toMatchObject({ state: 'warning', found: expect.stringContaining('y.md:4: `hooks`') });
  });

  it('shows names of keys, never their values', async () => {
    using fixture = createTestWorkspace();
    const secret = 'sk-canary-0123456789abcdef';
    fixture.write('own/config.json', { model: 'mine/x', providers: { mine: { kind: 'openai', apiKeyEnv: 'MY_KEY' } } });
    const before = await check(fixture);
    expect(before.model).toMatchObject({ state: 'warning', found: expect.stringContaining('MY_KEY is not set') });
    const checks = await check(fixture, {
      ANTHROPIC_API_KEY: secret,
      MY_KEY: secret,
      OPENAI_API_KEY: ' ',
      OLLAMA_HOST: `http://u:${secret}@127.0.0.1:9`,
    });
    expect(checks.keys).toMatchObject({ state: 'ok', found: 'ANTHROPIC_API_KEY, MY_KEY' });
    expect(checks.model?.state).toBe('ok');
    expect(JSON.stringify(checks)).not.toContain('canary');
  });

  it('reports what is not trusted', async () => {
    using fixture = createTestWorkspace();
    const path = fixture.write('work/retinue.config.json', { limits: { maxTurns: 500 } });
    expect(await check(fixture)).toMatchObject({
      workspace: {
        state: 'warning',
        found: expect.stringContaining(`not trusted: ${path}`),
        advice: expect.stringContaining('retinue trust'),
      },
      configuration: { state: 'warning', found: expect.stringContaining('limits.maxTurns') },
    });
  });

  it('finds programs on the PATH', async () => {
    using fixture = createTestWorkspace();
    for (const name of ['git', 'bwrap', 'rg', 'claude']) chmodSync(fixture.write(`bin/${name}`, '#!/bin/sh\nexit 1\n'), 0o755);
    fixture.write('bin/codex', 'not executable');
    mkdirSync(join(fixture.folder, 'bin', 'gemini'));
    const checks = await check(fixture, { PATH: `relative:${join(fixture.folder, 'bin')}` });
    expect(checks['other agents']?.found).toBe('claude on PATH');
    expect([checks.git, checks.ripgrep].map((check) => check?.state)).toEqual(['ok', 'ok']);
  });

  describe.runIf(process.platform === 'linux')('the sandbox', () => {
    const refusing = (fixture: TestWorkspace) => {
      chmodSync(fixture.write('bin/bwrap', '#!/bin/sh\necho "bwrap: setting up uid map: Permission denied" >&2\nexit 1\n'), 0o755);
      return { PATH: `${join(fixture.folder, 'bin')}:/usr/bin:/bin` };
    };

    it('is shown with its limits if it works', async () => {
      using fixture = createTestWorkspace();
      const { sandbox } = await check(fixture, { PATH: '/usr/bin:/bin' });
      expect(sandbox).toMatchObject({
        state: 'ok',
        found: expect.stringMatching(/^bubblewrap \d+\.\d+\.\d+ works; 512 processes and \d+ MiB/),
      });
    });

    it('is a warning if it works but is switched off', async () => {
      using fixture = createTestWorkspace();
      fixture.write('own/config.json', { sandbox: 'off' });
      const { sandbox } = await check(fixture, { PATH: '/usr/bin:/bin' });
      expect(sandbox).toMatchObject({ state: 'warning', found: expect.stringMatching(/^off \(.*config\.json\), although bubblewrap/) });
    });

    it('comes with advice if it is missing or refused by the kernel', async () => {
      using fixture = createTestWorkspace();
      expect((await check(fixture)).sandbox).toMatchObject({
        state: 'warning',
        advice: expect.stringContaining('apt-get install bubblewrap'),
      });
      const refused = (await check(fixture, refusing(fixture))).sandbox;
      expect(refused).toMatchObject({
        state: 'warning',
        found: expect.stringContaining('uid map'),
        advice: expect.stringContaining('AppArmor'),
      });
    });

    it('is broken if it is required and missing', async () => {
      using fixture = createTestWorkspace();
      fixture.write('own/config.json', { sandbox: 'required' });
      expect((await check(fixture)).sandbox).toMatchObject({ state: 'broken' });
      expect((await check(fixture, refusing(fixture))).sandbox).toMatchObject({ state: 'broken' });
    });
  });

  it('asks Ollama with a short timeout', async () => {
    using fixture = createTestWorkspace();
    const silent = createServer((request, response) => {
      if (request.url === '/api/version' && request.headers.host?.startsWith('localhost')) response.end('{"version":"0.9.1"}');
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    try {
      expect((await check(fixture, { OLLAMA_HOST: `localhost:${port}` })).ollama?.found).toBe(`0.9.1 answers at localhost:${port}`);
      expect((await check(fixture, { OLLAMA_HOST: `127.0.0.1:${port}`, RETINUE_MODEL: 'ollama/x' })).ollama).toMatchObject({
        state: 'warning',
        advice: expect.stringContaining('the model needs it'),
      });
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  });
});

describe('a locked database', () => {
  it('is reported with the process that holds the lock', async () => {
    using fixture = createTestWorkspace();
    const path = join(fixture.workspace, '.retinue', 'retinue.db');
    await (await openSqliteStore({ path })).close();
    const holder = new DatabaseSync(path);
    try {
      adoptDatabase(fixture.env, path);
      expect((await check(fixture)).database).toMatchObject({ state: 'ok', found: `${path} opens` });
      holder.exec('BEGIN IMMEDIATE');
      const { database } = await check(fixture);
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
