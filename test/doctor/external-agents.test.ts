// `retinue doctor` and `retinue agents` with external agents that are installed: real processes, the real gate and, where available, the real sandbox.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listExternalPrograms } from '../../src/config/external-programs.ts';
import { runDoctor } from '../../src/doctor/run.ts';
import { findSandbox } from '../../src/sandboxes/find-sandbox.ts';
import { type ProviderServerOptions, startProviderServer } from '../../src/testing/provider-server.ts';
import { realKey } from '../externals/support.ts';
import { agentText, createTestWorkspace, type TestWorkspace } from '../support/workspace.ts';

const usage = { input: 12, output: 2 };

/** Programs that only know their version. */
function install(fixture: TestWorkspace, programs: Record<string, string>): string {
  const folder = join(fixture.workspace, '../programs');
  mkdirSync(folder, { recursive: true });
  for (const [name, version] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\necho "${version}"\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return [folder, process.env.PATH].join(delimiter);
}

async function checkAgents(fixture: TestWorkspace, programs: Record<string, string>, variables: Record<string, string> = {}) {
  const env = { ...fixture.env, OLLAMA_HOST: 'http://127.0.0.1:9', PATH: install(fixture, programs), ...variables };
  const checks = await runDoctor({ limits: {}, rules: [] }, { cwd: fixture.workspace, env });
  return Object.fromEntries(checks.filter(({ name }) => name.startsWith('agent ')).map((check) => [check.name, check]));
}

async function withProvider<T>(
  answer: ProviderServerOptions['answer'],
  use: (server: Awaited<ReturnType<typeof startProviderServer>>) => Promise<T>,
) {
  const server = await startProviderServer({ answer });
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}

const all = { claude: '2.1.325', 'claude-agent-acp': '0', codex: '0.166.0', 'codex-acp': '0', opencode: '1.18.33' };

describe('doctor with external agents', () => {
  it('makes one call through the gate for each that is installed', () =>
    withProvider(
      () => ({ text: 'OK', usage }),
      async ({ url, requests }) => {
        using fixture = createTestWorkspace();
        fixture.write('own/agents/a.md', agentText('a', 'runs: claude\nmodel: anthropic/claude-test'));
        fixture.write('own/agents/b.md', agentText('b', 'runs: codex\nmodel: openai/gpt-test'));
        fixture.write('own/agents/c.md', agentText('c', 'runs: opencode\nmodel: openai-compatible/test'));
        const keys = Object.fromEntries(['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'RETINUE_API_KEY'].map((name) => [name, realKey]));
        const urls = Object.fromEntries(['ANTHROPIC_BASE_URL', 'OPENAI_BASE_URL', 'RETINUE_BASE_URL'].map((name) => [name, url]));
        const checks = await checkAgents(fixture, all, { ...keys, ...urls });
        const found = (version: string, model: string) =>
          expect.stringMatching(new RegExp(`^${version}; ${model} answered through the model gate .*\\(\\d+ ms, 14 tokens\\)$`));
        expect(checks).toMatchObject({
          'agent claude': { state: 'ok', found: found('2.1.325', 'anthropic/claude-test') },
          'agent codex': { state: 'ok', found: found('0.166.0', 'openai/gpt-test') },
          'agent opencode': { state: 'ok', found: found('1.18.33', 'openai-compatible/test') },
        });
        expect(requests.map(({ path }) => path).toSorted()).toEqual(['/v1/chat/completions', '/v1/messages', '/v1/responses']);
        expect(requests.map(({ headers }) => headers['x-api-key'] ?? headers.authorization?.slice(7))).toEqual([realKey, realKey, realKey]);
        expect(JSON.stringify(checks)).not.toContain(realKey);
      },
    ));

  it.each([
    ['there is no model', { model: undefined }, {}, /the model gate answers .*; no model call was tried: no model is configured$/],
    ['there is no key', { model: 'anthropic/claude-test' }, {}, /no model call was tried: .*ANTHROPIC_API_KEY/],
    [
      'it cannot use the model',
      { model: 'openai/gpt' },
      { OPENAI_API_KEY: realKey },
      /no model call was tried: claude cannot use the model openai\/gpt$/,
    ],
  ])('says what it could not try because %s', async (_, config, variables, found) => {
    using fixture = createTestWorkspace();
    fixture.write('own/config.json', config);
    const checks = await checkAgents(fixture, { claude: '2.1.325', 'claude-agent-acp': '0' }, variables);
    expect(checks['agent claude']).toMatchObject({ state: 'ok', found: expect.stringMatching(found) });
    fixture.write('own/agents/a.md', agentText('a', 'runs: claude'));
    const used = await checkAgents(fixture, { claude: '2.1.325', 'claude-agent-acp': '0' }, variables);
    expect(used['agent claude']).toMatchObject({
      state: 'warning',
      found: expect.stringMatching(found),
      advice: expect.stringContaining('runs: claude'),
    });
  });

  it('does not use the own login of an agent', async () => {
    using fixture = createTestWorkspace();
    fixture.write('own/agents/a.md', agentText('a', 'runs: { program: claude, login: own }'));
    const checks = await checkAgents(fixture, { claude: '2.1.325', 'claude-agent-acp': '0' });
    expect(checks['agent claude']).toMatchObject({ found: expect.stringMatching(/its agents use its own login/) });
  });

  it('says why the call failed, without the key', () =>
    withProvider([{ fault: { kind: 'status', status: 401, message: `bad key ${realKey}` } }], async ({ url }) => {
      using fixture = createTestWorkspace();
      fixture.write('own/config.json', { model: 'anthropic/claude-test' });
      const variables = { ANTHROPIC_API_KEY: realKey, ANTHROPIC_BASE_URL: url };
      const checks = await checkAgents(fixture, { claude: '2.1.325', 'claude-agent-acp': '0' }, variables);
      expect(checks['agent claude']).toMatchObject({ state: 'warning', found: expect.stringMatching(/status 401: .*bad key \[secret\]/s) });
    }));

  it('says what is missing, and nothing of programs that are neither installed nor needed', async () => {
    using fixture = createTestWorkspace();
    const found = { claude: '1.0.0', 'claude-agent-acp': '0', codex: '0.166.0' };
    const checks = await checkAgents(fixture, found);
    expect(checks).toMatchObject({
      'agent claude': { state: 'ok', found: expect.stringMatching(/claude 1.0.0 is too old/) },
      'agent codex': { state: 'ok', found: expect.stringMatching(/needs the adapter codex-acp/) },
    });
    expect(Object.keys(checks)).toHaveLength(2);
    fixture.write('own/agents/c.md', agentText('c', 'runs: opencode'));
    expect(await checkAgents(fixture, found)).toMatchObject({
      'agent opencode': {
        state: 'warning',
        found: expect.stringMatching(/was not found; install it/),
        advice: expect.stringContaining(': c'),
      },
    });
  });
});

describe('the list of external agents', () => {
  it('says for each promise who keeps it, with the gate and with its own login', async () => {
    using fixture = createTestWorkspace();
    const env = { ...fixture.env, PATH: install(fixture, all) };
    const found = await findSandbox({ env: process.env, workspace: '/nonexistent', secret: [] });
    if (!found.ok) throw new Error(found.reason);
    const by = (rows: { promise: string; by: string }[]) => Object.fromEntries(rows.map((row) => [row.promise, row.by]));
    const [confined] = await listExternalPrograms(env, fixture.workspace, { sandbox: found.sandbox, closed: null });
    expect(confined).toMatchObject({ program: 'claude', version: '2.1.325', problem: null });
    const gate = { rules: 'gate', approvals: 'gate', budget: 'gate', tokens: 'gate', key: 'gate' };
    const own = { rules: 'agent', approvals: 'agent', budget: 'agent', tokens: 'agent', key: 'agent' };
    const always = { deadline: 'retinue' };
    expect(by(confined?.promises.gate ?? [])).toEqual({ ...gate, ...always, files: 'sandbox', network: 'sandbox', processes: 'sandbox' });
    expect(by(confined?.promises.own ?? [])).toEqual({ ...own, ...always, files: 'sandbox', network: 'agent', processes: 'sandbox' });
    const [open] = await listExternalPrograms(env, fixture.workspace, { sandbox: null, closed: null });
    expect(by(open?.promises.gate ?? [])).toEqual({ ...gate, ...always, files: 'agent', network: 'agent', processes: 'retinue' });
    expect(confined?.enforced).toMatchObject({ writes: 'yes', network: 'yes', processes: 'yes' });
    expect(open?.enforced).toMatchObject({ budget: 'yes', writes: 'no', network: 'no', processes: 'yes' });
    const [closed] = await listExternalPrograms(env, fixture.workspace, { sandbox: null, closed: 'a sandbox is required' });
    expect(closed).toMatchObject({ version: '2.1.325', problem: 'a sandbox is required' });
  });
});
