// The tools of MCP servers as runs use them: a real server process, the real kernel.
import { expect, test } from 'vitest';
import type { Agent } from '../../src/contract/agent.ts';
import { builtInRuleset, parseRule } from '../../src/rules/policy.ts';
import { createMcpWorld, isRunning, serverIn } from '../support/mcp.ts';

const any: Agent = { name: 'any', description: '', prompt: 'p', source: 'test' };

test('tools of a server are offered with name and schema, and can be called', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn() } });
  const [echo, wrong, sum, mixed, fail, refuse] = await made.play([
    { tool: 'mcp__demo__echo', args: { text: 'hello' } },
    { tool: 'mcp__demo__echo', args: { txt: 'hello', times: 0 } },
    { tool: 'mcp__demo__sum' },
    { tool: 'mcp__demo__mixed' },
    { tool: 'mcp__demo__fail' },
    { tool: 'mcp__demo__refuse' },
  ]);
  expect(echo).toMatchObject({ status: 'ok', output: 'you said: hello', taint: ['mcp'] });
  expect(wrong).toMatchObject({ status: 'error', output: expect.stringMatching(/must have required property 'text'/) });
  expect(sum).toMatchObject({ status: 'ok', output: '{"total":3}' });
  expect(mixed?.output.split('\n')).toEqual([
    'first',
    '[image: image/png, 5 bytes, not shown]',
    '[audio: audio/wav, 3 bytes, not shown]',
    '[resource file:///notes.txt: text/plain, 9 bytes]',
    'the notes',
    '[resource file:///x.bin: of unknown type, 4 bytes, not shown]',
    '[link to a resource: a\\u000ab https://example.com/a (of unknown type)]',
  ]);
  expect(fail).toMatchObject({ status: 'error', output: 'it went wrong', taint: ['mcp'] });
  expect(refuse).toMatchObject({ status: 'error', output: 'mcp__demo__refuse failed: it answered with an error: no such thing' });
  expect(made.created().grant.tools).toContain('mcp__demo__echo');
  expect(made.created().notices.filter((notice) => notice.includes('MCP'))).toEqual([]);
});

test('descriptions are cleaned and pinned with the run', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn() } });
  await made.play([]);
  const { tools } = await made.mcp.tools(any);
  const echo = tools.find(({ name }) => name === 'mcp__demo__echo');
  expect(echo).toMatchObject({ description: 'Gives back[2J what it gets.', readOnly: true, idempotent: true });
  expect(echo?.inputSchema).toMatchObject({ properties: { text: { description: 'what to say' } }, required: ['text'] });
  expect(tools.find(({ name }) => name === 'mcp__demo__env')).toMatchObject({ readOnly: false, idempotent: false });
});

test('a server sees only listed variables and those its definition names', async () => {
  const server = serverIn('plain', { env: { MODE: `\${GIVEN}-\${ABSENT:-else}` }, envFrom: ['GIVEN'] });
  const env = { GIVEN: 'given', OTHER: 'other', OPENAI_API_KEY: 'canary-number-two', SSH_AUTH_SOCK: '/x' };
  await using made = await createMcpWorld({ servers: { demo: server }, env });
  const [result] = await made.play([{ tool: 'mcp__demo__env' }]);
  const seen = JSON.parse(result?.output ?? '') as Record<string, string>;
  expect(Object.keys(seen).sort()).toEqual(['GIVEN', 'HOME', 'LANG', 'MODE', 'PATH', 'RETINUE_MCP_SERVER', 'TERM']);
  expect(seen).toMatchObject({ GIVEN: 'given', MODE: 'given-else' });
  expect(result?.output).not.toContain('canary');
});

test('a server starts in the home directory or where its definition says, and is told the workspace', async () => {
  await using made = await createMcpWorld({ servers: { home: serverIn(), here: serverIn('plain', { cwd: '.' }) } });
  const [home, here] = await made.play([{ tool: 'mcp__home__where' }, { tool: 'mcp__here__where' }]);
  expect(JSON.parse(home?.output ?? '')).toMatchObject({ cwd: process.cwd(), roots: [{ uri: `file://${made.world.workspace}` }] });
  expect(JSON.parse(here?.output ?? '')).toMatchObject({ cwd: made.world.workspace });
});

test('runs share one process, which does not survive the close', async () => {
  const made = await createMcpWorld({ servers: { demo: serverIn() } });
  const where = [{ tool: 'mcp__demo__where' }];
  const results = (await Promise.all([made.play(where), made.play(where), made.play(where)])).flat();
  const pids = new Set(results.map(({ output }) => (JSON.parse(output) as { pid: number }).pid));
  expect(pids.size).toBe(1);
  const [pid] = [...pids] as [number];
  expect(isRunning(pid)).toBe(true);
  await made[Symbol.asyncDispose]();
  expect(isRunning(pid)).toBe(false);
});

test('a process that ignores the end of its input and SIGTERM is killed at the close', async () => {
  const made = await createMcpWorld({ servers: { demo: serverIn('stubborn') } });
  const [where] = await made.play([{ tool: 'mcp__demo__where' }]);
  const { pid } = JSON.parse(where?.output ?? '') as { pid: number };
  await made[Symbol.asyncDispose]();
  expect(isRunning(pid)).toBe(false);
});

test('nothing is started for an agent or a brief that names none of its tools', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn('exit') } });
  await made.play([], { agent: 'explore', tools: { deny: ['mcp__demo__echo'] } });
  expect(made.created().notices.filter((notice) => notice.includes('MCP'))).toEqual([]);
  await made.play([], { tools: { allow: ['read'] } });
  expect(made.created().notices.filter((notice) => notice.includes('MCP'))).toEqual([]);
  await made.play([]);
  expect(made.created().notices.filter((notice) => notice.includes('MCP'))).toHaveLength(1);
});

test('lists of tools: agents and briefs, names and groups', async () => {
  const one: Agent = { ...any, name: 'one', tools: ['read', 'mcp__demo__ec*', 'mcp__demo__sum'] };
  const without: Agent = { ...any, name: 'without', disallowedTools: ['mcp__demo__d*'] };
  await using made = await createMcpWorld({ servers: { demo: serverIn() }, agents: [any, one, without] });
  const offered = async (brief: object) => {
    await made.play([], brief);
    return made.created().grant.tools.filter((tool) => tool.startsWith('mcp__'));
  };
  expect(await offered({ agent: 'any' })).toHaveLength(15);
  expect(await offered({ agent: 'one' })).toEqual(['mcp__demo__echo', 'mcp__demo__sum']);
  expect(await offered({ agent: 'without' })).toHaveLength(13);
  expect(await offered({ agent: 'any', tools: { allow: ['read', 'mcp__demo__s*'] } })).toEqual(['mcp__demo__sum']);
  expect(await offered({ agent: 'one', tools: { deny: ['mcp__demo__echo'] } })).toEqual(['mcp__demo__sum']);
  expect(await offered({ agent: 'any', tools: { allow: ['mcp__other__*'] } })).toEqual([]);
  await expect(made.play([], { tools: { deny: ['mcp__demo__ehco'] } })).rejects.toThrow(/mcp__demo__echo/);
});

test('rules: names, groups and patterns over the arguments', async () => {
  const owner = builtInRuleset([], []);
  const rules = ['deny mcp__demo__delete_*', 'deny mcp__demo__echo:*"secret"*'].map(parseRule);
  await using made = await createMcpWorld({ servers: { demo: serverIn() }, rulesets: [{ ...owner, rules: [...owner.rules, ...rules] }] });
  const [secret, fine, gone] = await made.play([
    { tool: 'mcp__demo__echo', args: { times: 1, text: 'secret' } },
    { tool: 'mcp__demo__echo', args: { text: 'plain' } },
    { tool: 'mcp__demo__delete_all', args: { path: '/' } },
  ]);
  expect(secret).toMatchObject({ status: 'denied', output: expect.stringContaining('deny mcp__demo__echo:') });
  expect(fine).toMatchObject({ status: 'ok' });
  expect(gone).toMatchObject({ status: 'denied' });
  expect(made.created().grant.tools).not.toContain('mcp__demo__delete_all');
});

test('servers that an agent defines are its own; names select configured ones', async () => {
  const own: Agent = { ...any, name: 'own', mcpServers: ['demo', { mine: serverIn() }, 'nowhere'] };
  const none: Agent = { ...any, name: 'none', mcpServers: [] };
  await using made = await createMcpWorld({ servers: { demo: serverIn(), other: serverIn() }, agents: [any, own, none] });
  const servers = async (agent: string) => {
    await made.play([], { agent });
    return [...new Set(made.created().grant.tools.flatMap((tool) => /^mcp__(\w+?)__/.exec(tool)?.[1] ?? []))];
  };
  expect(await servers('own')).toEqual(['demo', 'mine']);
  expect(made.created().notices).toContain('MCP server nowhere, which the agent own names, is not configured');
  expect(await servers('any')).toEqual(['demo', 'other']);
  expect(await servers('none')).toEqual([]);
});

test('a child gets no server that its parent may not use', async () => {
  const lead: Agent = { ...any, name: 'lead', mcpServers: ['demo'] };
  const own: Agent = { ...any, name: 'own', mcpServers: ['demo', { mine: serverIn() }] };
  const delegate = { tool: 'delegate', args: { tasks: [{ task: 'see', agent: 'own' }] } };
  await using made = await createMcpWorld({
    servers: { demo: serverIn() },
    agents: [lead, own],
    script: { runs: [{ steps: [{ calls: [delegate] }, { text: 'done' }] }, { steps: [{ text: 'seen' }] }] },
  });
  const run = await made.world.runtime.start({ task: 'go', agent: 'lead' });
  expect(await run.outcome).toMatchObject({ status: 'completed' });
  const { agent, grant } = made.created();
  expect(agent).toBe('own');
  expect(grant.tools.filter((tool) => tool.startsWith('mcp__mine__'))).toEqual([]);
  expect(grant.tools).toContain('mcp__demo__echo');
});

test('a changed tool list applies to later runs', async () => {
  await using made = await createMcpWorld({ servers: { demo: serverIn() } });
  const [, early] = await made.play([{ tool: 'mcp__demo__grow' }, { tool: 'mcp__demo__grown' }]);
  expect(early).toMatchObject({ status: 'error', output: expect.stringContaining('mcp__demo__grown') });
  const [late] = await made.play([{ tool: 'mcp__demo__grown' }]);
  expect(late).toMatchObject({ status: 'ok' });
});
