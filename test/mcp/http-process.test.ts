// The official client over HTTP against the real `retinue serve`.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { dialectNames, makeDialect } from '../../src/dialects/index.ts';
import { createPlace, type Place } from '../cli/support-process.ts';
import { startServer } from './support.ts';
import { findRunId, type HttpClient } from './support-http.ts';
import { connectHttp, makeToken, startServe, writeTokens } from './support-serve.ts';

const secret = 'the finding of alice';
const script = {
  runs: [
    { times: 'any', when: { task: 'hold' }, steps: [{ hang: 'start' }] },
    { times: 'any', steps: [{ text: secret }] },
  ],
};
const tokens = [
  { name: 'alice', role: 'start' as const },
  { name: 'bob', role: 'start' as const },
  { name: 'reader', role: 'read' as const },
];
const run = (place: Place, id: string) => place.run('show', id, '--json').then(({ out }) => JSON.parse(out) as Record<string, unknown>);

async function hold(client: HttpClient, place: Place): Promise<string> {
  const id = findRunId(await client.text('delegate', { tasks: [{ task: 'hold' }], wait_seconds: 0 }));
  await place.facts((facts) => facts.some((fact) => fact.runId === id && fact.type === 'model.asked'));
  return id;
}

it('delegates, waits, messages, cancels and reports progress', async () => {
  using place = createPlace(script);
  const server = await startServe(place);
  const { call, text, client } = await connectHttp(server, server.token as string);
  const progress: (string | undefined)[] = [];
  const result = await call(
    'delegate',
    { tasks: [{ task: 'find', label: 'look' }] },
    { onprogress: ({ message }) => void progress.push(message) },
  );
  expect(JSON.stringify(result)).toContain(secret);
  expect(progress[0]).toBe('look: turn 1');
  const id = await hold({ call, text, client } as HttpClient, place);
  expect(await text('delegate_wait', { ids: [id], seconds: 0 })).toContain('running');
  expect(await text('delegate_message', { id, text: 'hurry' })).toContain(`run ${id}`);
  expect(await text('delegate_cancel', { ids: [id], reason: 'enough' })).toContain('cancelled');
  expect(JSON.parse((await place.run('ps', '--all', '--json')).out)).toMatchObject([
    { runId: id, status: 'cancelled', depth: 1 },
    { depth: 1, status: 'completed' },
    { kind: 'client', label: 'tester 1 (the user)', depth: 0 },
  ]);
  await client.close();
  await server.stop();
});

it('two principals with the same client name see nothing of each other, and a read token cannot delegate', async () => {
  using place = createPlace(script);
  const server = await startServe(place, writeTokens(place, tokens));
  const [alice, bob, reader] = await Promise.all(['alice', 'bob', 'reader'].map((name) => connectHttp(server, makeToken(name))));
  const id = findRunId(await (alice as HttpClient).text('delegate', { tasks: [{ task: 'find' }] }));
  for (const other of [bob, reader] as HttpClient[]) {
    const text = await other.text('delegate_read', { id, part: 'summary' });
    expect(text).toContain(`${id} is none of your delegated runs`);
    expect(text).not.toContain(secret);
  }
  const refused = await (reader as HttpClient).call('delegate', { tasks: [{ task: 'find' }] });
  expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('needs a token with the role `start`') }] });
  for (const each of [alice, bob, reader] as HttpClient[]) await each.client.close();
  await server.stop();
});

it('a request without a token, with a wrong one, or from another origin is refused', async () => {
  using place = createPlace(script);
  const server = await startServe(place);
  const post = (headers: Record<string, string>) => fetch(`${server.url}/mcp`, { method: 'POST', headers, body: '{}' });
  expect((await post({})).status).toBe(401);
  expect((await post({ authorization: `Bearer ${makeToken('nobody')}` })).status).toBe(401);
  expect((await post({ authorization: `Bearer ${server.token}`, origin: 'http://evil.example' })).status).toBe(403);
  await server.stop();
});

it('every dialect is offered at its path, and the one of --dialect at /mcp', async () => {
  using place = createPlace(script);
  const server = await startServe(place, ['--dialect', 'ralph']);
  const listTools = async (path: string) => {
    const { client } = await connectHttp(server, server.token as string, { path });
    const { tools } = await client.listTools();
    await client.close();
    return tools.map((tool) => tool.name);
  };
  for (const name of dialectNames)
    expect(await listTools(`/mcp/${name}`), name).toEqual(makeDialect(name, {}).tools.map((tool) => tool.name));
  expect(await listTools('/mcp')).toEqual(['subagent', 'subagent_status']);
  const unknown = await fetch(`${server.url}/mcp/ralf`, { headers: { authorization: `Bearer ${server.token}` } });
  expect(unknown.status).toBe(404);
  await server.stop();
});

it('an unknown dialect ends the command before anything listens', async () => {
  using place = createPlace(script);
  const { code, err } = await place.run('serve', '--dialect', 'ralf');
  expect(code).toBe(2);
  expect(err).toContain('unknown dialect `ralf`');
});

describe('the end of a session', () => {
  it('pauses native runs, which wait for `retinue resume`, also while the server goes on', async () => {
    using place = createPlace(script);
    const server = await startServe(place);
    const client = await connectHttp(server, server.token as string);
    const id = await hold(client, place);
    await client.transport.terminateSession();
    expect(await run(place, id)).toMatchObject({ status: 'paused', outcome: null });
    const resumed = place.start('resume', id);
    await place.facts((facts) => facts.filter((fact) => fact.runId === id && fact.type === 'run.resumed').length === 1);
    await place.run('cancel', id);
    expect((await resumed.finished).code).toBe(0);
    await server.stop();
  });

  it('ends the runs of other dialects', async () => {
    using place = createPlace(script);
    const server = await startServe(place);
    const client = await connectHttp(server, server.token as string, { path: '/mcp/openfork' });
    await client.call('task', { subagent_type: 'explore', prompt: 'hold', description: 'x', run_in_background: true });
    await client.transport.terminateSession();
    const [task] = JSON.parse((await place.run('ps', '--all', '--json')).out) as { runId: string }[];
    expect(await run(place, task?.runId as string)).toMatchObject({ status: 'cancelled', outcome: { error: { code: 'client_gone' } } });
    await server.stop();
  });
});

it.each(['SIGTERM', 'SIGKILL'] as const)(
  'after %s and a restart of the server, what ran goes on, and the same principal finds and cancels it',
  async (signal) => {
    using place = createPlace(script);
    const flags = writeTokens(place, tokens);
    const first = await startServe(place, flags);
    const before = await connectHttp(first, makeToken('alice'));
    const ended = findRunId(await before.text('delegate', { tasks: [{ task: 'find' }] }));
    const held = await hold(before, place);
    first.process.kill(signal);
    await first.finished;
    const second = await startServe(place, flags);
    await place.facts((facts) => facts.some((fact) => fact.runId === held && fact.type === 'run.resumed'));
    const alice = await connectHttp(second, makeToken('alice'), { client: new Client({ name: 'renamed', version: '2' }) });
    expect(await alice.text('delegate_read', { id: ended, part: 'summary' })).toContain(secret);
    expect(await alice.text('delegate_wait', { ids: [held], seconds: 0 })).toContain('running');
    const bob = await connectHttp(second, makeToken('bob'));
    expect(await bob.text('delegate_cancel', { ids: [held] })).toContain('none of your delegated runs');
    expect(await alice.text('delegate_cancel', { ids: [held] })).toContain('cancelled');
    for (const { client } of [alice, bob]) await client.close();
    await second.stop();
  },
);

it('a question is put to the client, and an allowed call is made', async () => {
  const bash = { tool: 'bash', args: { command: 'echo hello > out.txt' } };
  using place = createPlace({ runs: [{ times: 'any', steps: [{ calls: [bash] }, { text: 'done' }] }] });
  const server = await startServe(place, ['--sandbox', 'off']);
  const client = new Client({ name: 'asks', version: '1' }, { capabilities: { elicitation: {} } });
  const asked: string[] = [];
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    asked.push(params.message);
    return { action: 'accept', content: { answer: 'allow this once' } };
  });
  const { call } = await connectHttp(server, server.token as string, { client });
  expect(JSON.stringify(await call('delegate', { tasks: [{ task: 'write it' }] }))).toContain('done');
  expect(asked).toEqual([expect.stringContaining('asks to use bash')]);
  expect(existsSync(join(place.folder, 'out.txt'))).toBe(true);
  await client.close();
  await server.stop();
});

it('without elicitation a question waits for `retinue approve`', async () => {
  const bash = { tool: 'bash', args: { command: 'echo hello > out.txt' } };
  using place = createPlace({ runs: [{ times: 'any', steps: [{ calls: [bash] }, { text: 'done' }] }] });
  const server = await startServe(place, ['--sandbox', 'off']);
  const { text, client } = await connectHttp(server, server.token as string);
  const answer = text('delegate', { tasks: [{ task: 'write it' }] });
  const asked = await place.facts((facts) => facts.some((fact) => fact.type === 'approval.asked'));
  await place.run('approve');
  const approved = await place.run('approve', asked.find((fact) => fact.type === 'approval.asked')?.runId as string);
  expect(approved.code, approved.err).toBe(0);
  expect(await answer).toContain('done');
  await client.close();
  await server.stop();
});

it('a client on standard input and output cannot take the name of a token', async () => {
  using place = createPlace(script);
  const server = await startServe(place, writeTokens(place, tokens));
  const alice = await connectHttp(server, makeToken('alice'));
  const id = findRunId(await alice.text('delegate', { tasks: [{ task: 'find' }] }));
  await alice.transport.terminateSession();
  await using other = await startServer({ place, client: new Client({ name: 'principal:alice', version: '1' }) });
  expect(JSON.stringify(await other.call('delegate_read', { id, part: 'summary' }))).toContain('none of your delegated runs');
  await server.stop();
});

describe('retinue mcp --http', () => {
  it('serves MCP with the limits and the dialect of the command', async () => {
    using place = createPlace(script);
    const server = await startServe(place, ['--max-turns', '3'], ['mcp', '--http']);
    const { text, client } = await connectHttp(server, server.token as string);
    const id = findRunId(await text('delegate', { tasks: [{ task: 'find' }] }));
    expect(await run(place, id)).toMatchObject({ grant: { limits: { maxTurns: { value: 3 } } } });
    await client.close();
    await server.stop();
  });

  it.each([
    [['mcp', '--port', '1'], '--port is a flag of `retinue mcp --http`'],
    [['mcp', '--http', '--print'], '--print is a flag of `retinue mcp install CLIENT`'],
    [['mcp', 'install', 'codex', '--http'], '--http cannot be installed'],
  ])('%j is refused', async (args, message) => {
    using place = createPlace(script);
    const { code, err } = await place.run(...args);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});
