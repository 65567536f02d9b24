// MCP servers in configurations and agent files: what counts, whose word it takes, and what is shown of it.
import { describe, expect, it } from 'vitest';
import { examine } from '../../src/main/doctor.ts';
import { explainAgent } from '../../src/main/explain.ts';
import { createRedact, serverSecrets } from '../../src/main/secrets.ts';
import { addTrust } from '../../src/main/trust.ts';
import { builtInRuleset } from '../../src/rules/policy.ts';
import { serverIn } from '../support/mcp.ts';
import { agentText, createPlace, type TestPlace } from './place.ts';

const at = '2026-01-02T03:04:05.000Z';
const demo = { command: 'demo', args: ['-x'], env: { API_TOKEN: 'canary-env-value' } };
const far = { url: 'https://me:canary-pw@far.example/mcp?key=canary-query', headers: { authorization: 'Bearer canary-header' } };

function trustAll(place: TestPlace): void {
  const settings = place.settings();
  addTrust(place.env, [...settings.trust, ...settings.agents().trust], at);
}

describe('the configuration', () => {
  it('takes servers of the user; later files replace those of the same name', () => {
    using place = createPlace();
    place.write('own/config.json', { mcpServers: { demo, far } });
    const given = place.write('given.json', { mcpServers: { far: { type: 'sse', url: 'http://127.0.0.1/x', timeout: 1.5 } } });
    expect(place.settings({ config: given }).mcpServers).toEqual({ demo, far: { type: 'sse', url: 'http://127.0.0.1/x', timeout: 1.5 } });
  });

  it('shows names of variables and headers, never their values', () => {
    using place = createPlace();
    place.write('own/config.json', { mcpServers: { demo, far } });
    const shown = place.settings().sources.filter(({ key }) => key.startsWith('mcpServers.'));
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
    using place = createPlace();
    place.write('own/config.json', { mcpServers });
    expect(() => place.settings()).toThrow(said);
    expect(() => place.settings()).toThrow(/config\.json:1:\d+: /);
  });
});

describe('a workspace', () => {
  it('starts nothing and names no address before it is trusted; then its servers start in it', () => {
    using place = createPlace();
    place.write('own/config.json', { mcpServers: { mine: demo } });
    const path = place.write('work/retinue.config.json', { mcpServers: { demo, far, mine: { command: 'theirs' } } });
    const before = place.settings();
    expect(before.mcpServers).toEqual({ mine: demo });
    expect(before.notices).toContain(`not trusted: \`mcpServers\` of ${path} is left out (a workspace may not set it)`);
    const asked = before.trust[0]?.gives.map(({ what }) => what) ?? [];
    expect(asked[0]).toBe('mcpServers.demo = {"command":"demo","args":["-x"],"env":{"API_TOKEN":"canary-env-value"}}');
    expect(asked[1]).toContain('https://…@far.example');
    trustAll(place);
    expect(place.settings().mcpServers).toEqual({ demo: { cwd: '.', ...demo }, far, mine: { cwd: '.', command: 'theirs' } });
  });

  it('has agents that go without their own servers until they are trusted', () => {
    using place = createPlace();
    place.write('own/config.json', { mcpServers: { mine: demo } });
    place.write(
      'work/.claude/agents/a.md',
      agentText('a', 'mcpServers:\n  - mine\n  - demo:\n      command: theirs\n      args: [-y, evil]'),
    );
    const agentA = () =>
      place
        .settings()
        .agents()
        .list.find(({ name }) => name === 'a');
    expect(agentA()?.mcpServers).toEqual(['mine']);
    expect(place.settings().agents().trust[0]?.gives).toEqual([
      { what: 'mcpServers.demo = {"command":"theirs","args":["-y","evil"]}', why: 'it runs a command, so the agent goes without it' },
    ]);
    trustAll(place);
    expect(agentA()?.mcpServers).toEqual(['mine', { demo: { cwd: '.', command: 'theirs', args: ['-y', 'evil'] } }]);
  });
});

describe('an agent of the user', () => {
  const agentOf = (place: TestPlace, lines: string) => {
    place.write('own/agents/a.md', agentText('a', lines));
    const found = place.settings().agents();
    return { agent: found.list.find(({ name }) => name === 'a'), warnings: found.warnings.map(({ message }) => message) };
  };

  it('brings its own servers along, in each form of the format', () => {
    using place = createPlace();
    const own = { x: { command: 'c', type: 'stdio' } };
    expect(agentOf(place, 'mcpServers: [github, { x: { command: c, type: stdio } }]').agent?.mcpServers).toEqual(['github', own]);
    expect(agentOf(place, 'mcpServers: { x: { command: c, type: stdio } }').agent?.mcpServers).toEqual([own]);
    expect(agentOf(place, 'mcpServers: github, linear').agent?.mcpServers).toEqual(['github', 'linear']);
    expect(agentOf(place, 'mcpServers: []').agent?.mcpServers).toEqual([]);
  });

  it('names tools of servers; a server alone means all it has', () => {
    using place = createPlace();
    const { agent, warnings } = agentOf(
      place,
      'tools: Read, mcp__github, mcp__x__*, mcp__y__z\ndisallowedTools: mcp__github__delete_*, mcp__x',
    );
    expect(agent?.tools).toEqual(['read', 'mcp__github__*', 'mcp__x__*', 'mcp__y__z']);
    expect(agent?.disallowedTools).toEqual(expect.arrayContaining(['mcp__github__delete_*', 'mcp__x__*']));
    expect(warnings).toEqual([]);
  });

  it('is warned about a server none of whose tools its list names', () => {
    using place = createPlace();
    const { warnings } = agentOf(place, 'tools: Read, mcp__x__a\nmcpServers: [x, y]');
    expect(warnings).toEqual(['`mcpServers` has y, but `tools` names none of its tools, so it gets none; add `mcp__y__*`']);
  });
});

describe('explain', () => {
  it('shows what an agent gets of each server', async () => {
    using place = createPlace();
    place.write('own/config.json', { mcpServers: { demo, far } });
    place.write(
      'own/agents/a.md',
      agentText('a', 'tools: Read, mcp__demo__x, mcp__own__*\nmcpServers: [demo, gone, { own: { command: c } }]'),
    );
    const rulesets = [builtInRuleset([], [])];
    const explain = async (name: string) => {
      const { tools } = await explainAgent(place.settings(), name, { tools: ['read'], delegationTools: [], rulesets });
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
  it('connects to each server and says how many tools it has, and no value', async () => {
    using place = createPlace();
    const servers = {
      good: serverIn('plain', { env: { API_TOKEN: 'canary-env-value' } }),
      odd: serverIn('hostile'),
      bad: serverIn('exit'),
      unset: { url: 'http://127.0.0.1:9/', headersFrom: { authorization: 'NOT_SET' } },
    };
    place.write('own/config.json', { mcpServers: servers });
    place.write('own/agents/a.md', agentText('a', 'mcpServers: [good, { own: { command: no-such-program } }]'));
    const env = { ...place.env, PATH: process.env.PATH ?? '', OLLAMA_HOST: 'http://127.0.0.1:9' };
    const checks = await examine({ limits: {}, rules: [] }, { cwd: place.workspace, env });
    const found = Object.fromEntries(checks.map(({ name, state, found: text }) => [name, [state, text]]));
    expect(found['mcp good']).toEqual(['ok', 'answers; 15 tools']);
    expect(found['mcp odd']).toEqual(['warning', expect.stringMatching(/^answers; 7 tools\n8 tools left out/)]);
    expect(found['mcp bad']).toEqual(['warning', expect.stringMatching(/^cannot be used\nit ended with exit code 1/)]);
    expect(found['mcp unset']).toEqual(['warning', expect.stringContaining('the variable NOT_SET')]);
    expect(found['mcp own (a)']).toEqual(['warning', expect.stringContaining('there is no program no-such-program')]);
    expect(JSON.stringify(checks)).not.toContain('canary');
  });
});

describe('secrets of definitions', () => {
  it('are taken out of texts; plain values are not', () => {
    const env = { WHO: 'a-name-of-a-person', TOKEN_FOR_IT: 'canary-from-variable' };
    const servers = [
      { command: 'x', env: { API_TOKEN: 'canary-env-value', NODE_ENV: 'production' } },
      {
        url: 'http://x/',
        headers: { Authorization: 'Bearer canary-header', 'x-key': `\${TOKEN_FOR_IT}` },
        headersFrom: { 'x-user': 'WHO' },
      },
    ];
    const redact = createRedact(env, serverSecrets(servers));
    const text = redact('canary-env-value production canary-header canary-from-variable a-name-of-a-person', false);
    expect(text).toBe('[secret of an MCP server] production [secret of an MCP server] [secret TOKEN_FOR_IT] [secret WHO]');
  });

  it('are all variables that a definition names, but for short ones and what commands see anyway', () => {
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
    const redact = createRedact(env, serverSecrets(servers));
    expect(redact(Object.values(env).join(' '), false)).toBe(
      `[secret DATABASE] [secret ROUTE] [secret TENANT] [secret ACCOUNT] fast /home/somebody ${import.meta.dirname} not-named-anywhere`,
    );
  });
});
