// MCP servers in configuration and agent files: which apply, which need trust, and what is shown of them.
import { describe, expect, it } from 'vitest';
import { explainAgent } from '../../src/config/explain-agent.ts';
import { createRedact } from '../../src/config/redact.ts';
import { findServerSecrets } from '../../src/config/secrets.ts';
import { addTrust } from '../../src/config/trust.ts';
import { runDoctor } from '../../src/doctor/run.ts';
import { builtInRuleset } from '../../src/rules/policy.ts';
import { serverIn } from '../support/mcp.ts';
import { agentText, createTestWorkspace, type TestWorkspace } from '../support/workspace.ts';

const at = '2026-01-02T03:04:05.000Z';
const demo = { command: 'demo', args: ['-x'], env: { API_TOKEN: 'canary-env-value' } };
const far = { url: 'https://me:canary-pw@far.example/mcp?key=canary-query', headers: { authorization: 'Bearer canary-header' } };

function trustAll(fixture: TestWorkspace): void {
  const settings = fixture.settings();
  addTrust(fixture.env, [...settings.trust, ...settings.agents().trust], at);
}

describe('the configuration', () => {
  it('uses the user’s servers; later files replace servers of the same name', () => {
    using fixture = createTestWorkspace();
    fixture.write('own/config.json', { mcpServers: { demo, far } });
    const given = fixture.write('given.json', { mcpServers: { far: { type: 'sse', url: 'http://127.0.0.1/x', timeout: 1.5 } } });
    expect(fixture.settings({ config: given }).mcpServers).toEqual({ demo, far: { type: 'sse', url: 'http://127.0.0.1/x', timeout: 1.5 } });
  });

  it('shows names of variables and headers, never their values', () => {
    using fixture = createTestWorkspace();
    fixture.write('own/config.json', { mcpServers: { demo, far } });
    const shown = fixture.settings().sources.filter(({ key }) => key.startsWith('mcpServers.'));
    expect(shown.map(({ key, value }) => [key, value])).toEqual([
      ['mcpServers.demo', { command: 'demo', args: ['-x'], env: ['API_TOKEN'] }],
      ['mcpServers.far', { url: 'https://far.example/mcp (credentials not shown)', headers: ['authorization'] }],
    ]);
    expect(JSON.stringify(shown)).not.toContain('canary');
  });

  it.each([
    [{ Demo: demo }, /`mcpServers\.Demo`.* up to 32 lower-case letters/],
    [{ a__b: demo }, /`mcpServers\.a__b`/],
    [{ a_: demo }, /`mcpServers\.a_`/],
    [{ demo: {} }, /`mcpServers\.demo` must have either a `command` or a `url`/],
    [{ demo: { ...demo, comand: 'x' } }, /unknown key `mcpServers\.demo\.comand`; did you mean `mcpServers\.demo\.command`/],
    [{ demo: { ...demo, headers: {} } }, /`mcpServers\.demo\.headers` must not be combined with `command`/],
    [{ demo: { url: 'file:///x' } }, /`mcpServers\.demo\.url` must be an http or https address/],
    [{ demo: { ...demo, env: { 'A-B': 'x' } } }, /`mcpServers\.demo\.env\.A-B`/],
    [{ demo: { ...demo, timeout: '5' } }, /`mcpServers\.demo\.timeout` must be a number of seconds/],
  ])('refuses %j', (mcpServers, said) => {
    using fixture = createTestWorkspace();
    fixture.write('own/config.json', { mcpServers });
    expect(() => fixture.settings()).toThrow(said);
    expect(() => fixture.settings()).toThrow(/config\.json:1:\d+: /);
  });
});

describe('a workspace', () => {
  it('adds no server until it is trusted; then its servers start in it', () => {
    using fixture = createTestWorkspace();
    fixture.write('own/config.json', { mcpServers: { mine: demo } });
    const path = fixture.write('work/retinue.config.json', { mcpServers: { demo, far, mine: { command: 'theirs' } } });
    const before = fixture.settings();
    expect(before.mcpServers).toEqual({ mine: demo });
    expect(before.notices).toContain(`not trusted: \`mcpServers\` in ${path} is ignored (only a trusted workspace may set it)`);
    const asked = before.trust[0]?.gives.map(({ what }) => what) ?? [];
    expect(asked[0]).toBe('mcpServers.demo = {"command":"demo","args":["-x"],"env":{"API_TOKEN":"canary-env-value"}}');
    expect(asked[1]).toContain('"url":"https://me:…@far.example/mcp?key=canary-query"');
    trustAll(fixture);
    expect(fixture.settings().mcpServers).toEqual({ demo: { cwd: '.', ...demo }, far, mine: { cwd: '.', command: 'theirs' } });
  });

  it('has agents that do not get their own servers until they are trusted', () => {
    using fixture = createTestWorkspace();
    fixture.write('own/config.json', { mcpServers: { mine: demo } });
    fixture.write(
      'work/.claude/agents/a.md',
      agentText('a', 'mcpServers:\n  - mine\n  - demo:\n      command: theirs\n      args: [-y, evil]'),
    );
    const agentA = () =>
      fixture
        .settings()
        .agents()
        .list.find(({ name }) => name === 'a');
    expect(agentA()?.mcpServers).toEqual(['mine']);
    expect(fixture.settings().agents().trust[0]?.gives).toEqual([
      { what: 'mcpServers.demo = {"command":"theirs","args":["-y","evil"]}', why: 'it runs a command, so the agent does not get it' },
    ]);
    trustAll(fixture);
    expect(agentA()?.mcpServers).toEqual(['mine', { demo: { cwd: '.', command: 'theirs', args: ['-y', 'evil'] } }]);
  });
});

describe('an agent of the user', () => {
  const agentOf = (fixture: TestWorkspace, lines: string) => {
    fixture.write('own/agents/a.md', agentText('a', lines));
    const found = fixture.settings().agents();
    return { agent: found.list.find(({ name }) => name === 'a'), warnings: found.warnings.map(({ message }) => message) };
  };

  it('may define servers, in each notation of the format', () => {
    using fixture = createTestWorkspace();
    const own = { x: { command: 'c', type: 'stdio' } };
    expect(agentOf(fixture, 'mcpServers: [github, { x: { command: c, type: stdio } }]').agent?.mcpServers).toEqual(['github', own]);
    expect(agentOf(fixture, 'mcpServers: { x: { command: c, type: stdio } }').agent?.mcpServers).toEqual([own]);
    expect(agentOf(fixture, 'mcpServers: github, linear').agent?.mcpServers).toEqual(['github', 'linear']);
    expect(agentOf(fixture, 'mcpServers: []').agent?.mcpServers).toEqual([]);
  });

  it('may name tools of servers; a server name alone means all its tools', () => {
    using fixture = createTestWorkspace();
    const { agent, warnings } = agentOf(
      fixture,
      'tools: Read, mcp__github, mcp__x__*, mcp__y__z\ndisallowedTools: mcp__github__delete_*, mcp__x',
    );
    expect(agent?.tools).toEqual(['read', 'mcp__github__*', 'mcp__x__*', 'mcp__y__z']);
    expect(agent?.disallowedTools).toEqual(expect.arrayContaining(['mcp__github__delete_*', 'mcp__x__*']));
    expect(warnings).toEqual([]);
  });

  it('gets a warning for a server none of whose tools it lists', () => {
    using fixture = createTestWorkspace();
    const { warnings } = agentOf(fixture, 'tools: Read, mcp__x__a\nmcpServers: [x, y]');
    expect(warnings).toEqual(['`mcpServers` has y, but `tools` lists none of its tools, so the agent gets none; add `mcp__y__*`']);
  });
});

describe('explain', () => {
  it('shows which tools of each server an agent gets', async () => {
    using fixture = createTestWorkspace();
    fixture.write('own/config.json', { mcpServers: { demo, far } });
    fixture.write(
      'own/agents/a.md',
      agentText('a', 'tools: Read, mcp__demo__x, mcp__own__*\nmcpServers: [demo, gone, { own: { command: c } }]'),
    );
    const rulesets = [builtInRuleset([], [])];
    const shell = { sandbox: null, closed: null, narrowing: [] };
    const explain = async (name: string) => {
      const { tools } = await explainAgent(fixture.settings(), name, { tools: ['read'], delegationTools: [], rulesets, shell });
      const lines = (list: typeof tools.offered) => list.map(({ tool, action, rule, owner }) => `${tool} ${action} ${rule} ${owner}`);
      return { offered: lines(tools.offered), leftOut: lines(tools.leftOut) };
    };
    expect(await explain('a')).toEqual({
      offered: ['read allow allow read built-in', 'mcp__demo__x allow allow mcp__* built-in', 'mcp__own__* allow allow mcp__* built-in'],
      leftOut: ['mcp__far__* deny deny * agent a', 'mcp__gone__* deny null there is no such server'],
    });
    expect((await explain('general')).offered).toContain('mcp__far__* allow allow mcp__* built-in');
    expect((await explain('explore')).leftOut).toContain('mcp__demo__* deny deny * agent explore');
  });
});

describe('doctor', () => {
  it('connects to each server and shows its number of tools, but no secret', async () => {
    using fixture = createTestWorkspace();
    const servers = {
      good: serverIn('plain', { env: { API_TOKEN: 'canary-env-value' } }),
      odd: serverIn('hostile'),
      bad: serverIn('exit'),
      unset: { url: 'http://127.0.0.1:9/', headersFrom: { authorization: 'NOT_SET' } },
    };
    fixture.write('own/config.json', { mcpServers: servers });
    fixture.write('own/agents/a.md', agentText('a', 'mcpServers: [good, { own: { command: no-such-program } }]'));
    const env = { ...fixture.env, PATH: process.env.PATH ?? '', OLLAMA_HOST: 'http://127.0.0.1:9' };
    const checks = await runDoctor({ limits: {}, rules: [] }, { cwd: fixture.workspace, env });
    const found = Object.fromEntries(checks.map(({ name, state, found: text }) => [name, [state, text]]));
    expect(found['mcp good']).toEqual(['ok', 'answers; 15 tools']);
    expect(found['mcp odd']).toEqual(['warning', expect.stringMatching(/^answers; 7 tools\n8 tools left out/)]);
    expect(found['mcp bad']).toEqual(['warning', expect.stringMatching(/^cannot be used\nit ended with exit code 1/)]);
    expect(found['mcp unset']).toEqual(['warning', expect.stringContaining('the variable NOT_SET')]);
    expect(found['mcp own (a)']).toEqual(['warning', expect.stringContaining('the program no-such-program')]);
    expect(JSON.stringify(checks)).not.toContain('canary');
  });
});

describe('secrets in server definitions', () => {
  it('are redacted; plain values are not', () => {
    const env = { WHO: 'a-name-of-a-person', TOKEN_FOR_IT: 'canary-from-variable' };
    const servers = [
      { command: 'x', env: { API_TOKEN: 'canary-env-value', NODE_ENV: 'production' } },
      {
        url: 'http://x/',
        headers: { Authorization: 'Bearer canary-header', 'x-key': `\${TOKEN_FOR_IT}` },
        headersFrom: { 'x-user': 'WHO' },
      },
    ];
    const redact = createRedact(env, findServerSecrets(servers));
    const text = redact('canary-env-value production canary-header canary-from-variable a-name-of-a-person', false);
    expect(text).toBe('[secret of an MCP server] production [secret of an MCP server] [secret TOKEN_FOR_IT] [secret WHO]');
  });

  it('include every variable that a definition refers to, except short and public ones', () => {
    const env = {
      DATABASE: 'canary-in-env-from',
      ROUTE: 'canary-in-args',
      TENANT: 'canary-in-url',
      ACCOUNT: 'canary-in-env',
      MODE: 'fast',
      HOME: '/home/somebody',
      PROJECT: import.meta.dirname,
      OTHER: 'not-named-anywhere',
    };
    const args = [`--route=\${ROUTE}`, `\${HOME}/x`, `\${PROJECT:-/tmp}`];
    const servers = [
      { command: 'x', args, env: { FOR: `\${ACCOUNT}` }, envFrom: ['DATABASE', 'MODE'] },
      { url: `https://x/\${TENANT:-none}/mcp` },
    ];
    const redact = createRedact(env, findServerSecrets(servers));
    expect(redact(Object.values(env).join(' '), false)).toBe(
      `[secret DATABASE] [secret ROUTE] [secret TENANT] [secret ACCOUNT] fast /home/somebody ${import.meta.dirname} not-named-anywhere`,
    );
  });
});
