// MCP over HTTP in this process: sessions, who sees what, roles, and what ends a session.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { dialectNames, makeDialect } from '../../src/dialects/index.ts';
import type { Principal } from '../../src/mcp/http.ts';
import { createHttpWorld, findRunId, type HttpClient, owner, post, url } from './support-http.ts';

const secret = 'the finding of the first principal';
const script = {
  runs: [
    { times: 'any', when: { task: 'hold' }, steps: [{ hang: 'start' }] },
    { times: 'any', steps: [{ text: secret }] },
  ],
};
const other: Principal = { id: 'other-token', name: 'other', role: 'start' };

type World = Awaited<ReturnType<typeof createHttpWorld>>;

/** A task `hold` is running when this resolves; others have ended. */
async function delegate(world: World, client: HttpClient, task: string): Promise<string> {
  const id = findRunId(await client.text('delegate', { tasks: [{ task }], ...(task === 'hold' ? { wait_seconds: 0 } : {}) }));
  while (task === 'hold' && (await world.api.show(id)).status !== 'running') await settle();
  return id;
}

/** One call for each way to get at a run by its id. */
const calls = (id: string): [string, object][] => [
  ['delegate_wait', { ids: [id], seconds: 0 }],
  ['delegate_wait', { ids: [id], seconds: 5 }],
  ['delegate_read', { id, part: 'summary' }],
  ['delegate_read', { id, part: 'log' }],
  ['delegate_message', { id, text: 'what did you find?' }],
  ['delegate_cancel', { ids: [id] }],
];

describe('dialects', () => {
  it.each(dialectNames)('%s is offered at its own path', async (name) => {
    await using world = await createHttpWorld();
    const { client } = await world.connect(owner, { path: `/${name}` });
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(makeDialect(name, {}).tools.map((tool) => tool.name));
  });

  it('an unknown path is answered with 404 and the list', async () => {
    await using world = await createHttpWorld();
    const response = await world.handler.handle(new Request(`${url}/ralf`, { method: 'POST' }), owner);
    expect(response.status).toBe(404);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect(error.code).toBe('unknown_dialect');
    for (const name of dialectNames) expect(error.message).toContain(`/mcp/${name}`);
  });

  it('a session of one dialect is unknown at the path of another', async () => {
    await using world = await createHttpWorld();
    const { transport } = await world.connect(owner, { path: '/ralph' });
    const response = await world.handler.handle(
      post({ id: 1, method: 'tools/list' }, { 'mcp-session-id': transport.sessionId as string }),
      owner,
    );
    expect(response.status).toBe(404);
  });
});

describe('principals', () => {
  it.each([
    ['open', false],
    ['ended', true],
  ])('another principal with the same client name sees nothing while the session is %s', async (_, ends) => {
    await using world = await createHttpWorld({ script });
    const first = await world.connect(owner, { name: 'same' });
    const ids = [await delegate(world, first, 'find'), await delegate(world, first, 'hold')];
    if (ends) await first.transport.terminateSession();
    for (const principal of [
      other,
      { id: 'r', name: 'reader', role: 'read' },
      { id: 's', name: 'steerer', role: 'steer' },
    ] as Principal[]) {
      const second = await world.connect(principal, { name: 'same' });
      for (const id of ids) {
        for (const [tool, args] of calls(id)) {
          const text = await second.text(tool, args);
          expect(text, `${principal.name} ${tool}`).toMatch(/none of your delegated runs|needs a token with the role/);
          expect(text, tool).not.toContain(secret);
        }
      }
    }
  });

  it('a session id of another principal opens nothing', async () => {
    await using world = await createHttpWorld();
    const { transport } = await world.connect();
    const headers = { 'mcp-session-id': transport.sessionId as string };
    for (const request of [
      post({ id: 1, method: 'tools/list' }, headers),
      new Request(url, { headers: { ...headers, accept: 'text/event-stream' } }),
      new Request(url, { method: 'DELETE', headers }),
    ]) {
      expect((await world.handler.handle(request, other)).status, request.method).toBe(404);
    }
    // A token of the same name sees the same runs, but not the session.
    expect((await world.handler.handle(post({ id: 1, method: 'ping' }, headers), { ...owner, id: 'another-token' })).status).toBe(404);
    expect((await world.handler.handle(post({ id: 1, method: 'ping' }, headers), owner)).status).toBe(200);
  });

  it('the same principal sees, waits for, steers and cancels the runs of its other session, whatever that client is called', async () => {
    await using world = await createHttpWorld({ script });
    const first = await world.connect(owner, { name: 'one' });
    const [ended, held] = [await delegate(world, first, 'find'), await delegate(world, first, 'hold')];
    const second = await world.connect(owner, { name: 'two' });
    expect(await second.text('delegate_read', { id: ended, part: 'summary' })).toContain(secret);
    expect(await second.text('delegate_wait', { ids: [held], seconds: 0 })).toContain('running');
    expect(await second.text('delegate_message', { id: held, text: 'hurry' })).toContain(`run ${held}`);
    expect((await world.api.logs(held)).map(({ type }) => type)).toContain('message.received');
    const waiting = second.text('delegate_wait', { ids: [held], seconds: 30 });
    expect(await second.text('delegate_cancel', { ids: [held] })).toContain('cancelled');
    expect(await waiting).toContain('cancelled');
    expect(await second.text('delegate_message', { id: ended, text: 'and?' })).toMatch(/^\[run [0-9a-f]{16} · (queued|running)/);
  });

  it('with share a client sees the runs of other principals', async () => {
    await using world = await createHttpWorld({ script, share: true });
    const id = await delegate(world, await world.connect(owner), 'find');
    for (const role of ['read', 'start'] as const) {
      const reader = await world.connect({ id: role, name: `other-${role}`, role });
      expect(await reader.text('delegate_read', { id, part: 'summary' })).toContain(secret);
    }
  });
});

describe('roles', () => {
  const reader: Principal = { ...owner, role: 'read' };
  const steerer: Principal = { ...owner, role: 'steer' };

  it('a read token reads and waits, and each refusal names the role that is needed', async () => {
    await using world = await createHttpWorld({ script });
    const first = await world.connect();
    const [ended, held] = [await delegate(world, first, 'find'), await delegate(world, first, 'hold')];
    const client = await world.connect(reader);
    const before = await world.api.ps({ all: true });
    expect((await client.client.listTools()).tools).toHaveLength(6);
    expect(await client.text('delegate_read', { id: ended, part: 'summary' })).toContain(secret);
    expect(await client.text('delegate_read', { id: ended, part: 'log' })).toContain(secret);
    expect(await client.text('delegate_wait', { ids: [ended, held], seconds: 0 })).toMatch(/completed(.|\n)*running/);
    const refused: [string, object, string][] = [
      ['delegate', { tasks: [{ task: 'x' }] }, 'start'],
      ['delegate_message', { id: held, text: 'x' }, 'steer'],
      ['delegate_cancel', { ids: [held] }, 'steer'],
    ];
    for (const [tool, args, role] of refused) {
      const result = await client.call(tool, args);
      expect(result).toMatchObject({ isError: true });
      expect(JSON.stringify(result.content), tool).toContain(`needs a token with the role \`${role}\`; this token has the role \`read\``);
    }
    expect(await world.api.ps({ all: true })).toEqual(before);
  });

  it('a steer token messages and cancels, but starts nothing, not even a follow-up', async () => {
    await using world = await createHttpWorld({ script });
    const first = await world.connect();
    const [ended, held] = [await delegate(world, first, 'find'), await delegate(world, first, 'hold')];
    const client = await world.connect(steerer);
    const runs = (await world.api.ps({ all: true })).length;
    expect(await client.text('delegate', { tasks: [{ task: 'x' }] })).toContain('needs a token with the role `start`');
    expect(await client.call('delegate_message', { id: ended, text: 'and?' })).toMatchObject({ isError: true });
    expect(await client.text('delegate_message', { id: held, text: 'hurry' })).toContain('running');
    expect(await client.text('delegate_cancel', { ids: [held] })).toContain('cancelled');
    expect((await world.api.ps({ all: true })).length).toBe(runs);
  });

  it.each(dialectNames)('a read token delegates nothing in %s, and leaves no record', async (name) => {
    await using world = await createHttpWorld();
    const { client } = await world.connect(reader, { path: `/${name}` });
    const requests = { native: { tasks: [{ task: 'x' }] }, dex: { instructions: 'x' }, xzatoma: { label: 'x', task_prompt: 'x' } };
    const openfork = { subagent_type: 'explore', prompt: 'x', description: 'x' };
    const others = { claude: { description: 'x', prompt: 'x' }, codex: { message: 'x' } };
    const args = { openfork, ...requests, ...others }[name] ?? { task: 'x' };
    const tool = makeDialect(name, {}).tools[0]?.name as string;
    const result = await client.callTool({ name: tool, arguments: args });
    expect(JSON.stringify(result)).toMatch(/role `start`|role \\*`start/);
    expect(await world.api.ps({ all: true })).toEqual([]);
  });

  it('the role is that of the request, not of the session', async () => {
    await using world = await createHttpWorld();
    const { transport } = await world.connect();
    const request = post(
      { id: 7, method: 'tools/call', params: { name: 'delegate', arguments: { tasks: [{ task: 'x' }] } } },
      { 'mcp-session-id': transport.sessionId as string },
    );
    expect(await (await world.handler.handle(request, reader)).text()).toContain('needs a token with the role `start`');
  });
});

describe('answers and what ends runs', () => {
  const reader: Principal = { ...owner, role: 'read' };
  const grep = { runs: [{ times: 'any', steps: [{ calls: [{ tool: 'grep', args: { pattern: 'x' } }] }, { text: 'done' }] }] };
  const rulesets = [{ owner: 'test', kind: 'owner' as const, rules: [{ action: 'ask' as const, tool: 'grep', pattern: null }] }];

  it('a question is not answered without the role for it', async () => {
    await using world = await createHttpWorld({
      script: grep,
      rulesets: rulesets as never,
      options: { questions: { canAnswer: () => true, timeoutMs: 60_000 } },
    });
    const client = new Client({ name: 'asks', version: '1' }, { capabilities: { elicitation: {} } });
    const asked = Promise.withResolvers<string | number>();
    const answered = Promise.withResolvers<{ action: 'decline' }>();
    client.setRequestHandler(ElicitRequestSchema, (_, { requestId }) => {
      asked.resolve(requestId);
      return answered.promise;
    });
    const { call, transport } = await world.connect(owner, { client });
    const result = call('delegate', { tasks: [{ task: 'x' }] });
    const answer = { id: await asked.promise, result: { action: 'accept', content: { answer: 'allow this once' } } };
    const headers = { 'mcp-session-id': transport.sessionId as string };
    for (const message of [answer, { ...answer, result: undefined, error: { code: 1, message: 'no' } }]) {
      const refused = await world.handler.handle(post(message, headers), reader);
      expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('role `steer`')]);
    }
    const batch = new Request(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify([
        { jsonrpc: '2.0', id: 1, method: 'ping' },
        { jsonrpc: '2.0', ...answer },
      ]),
    });
    expect((await world.handler.handle(batch, reader)).status).toBe(403);
    expect(await world.api.questions()).toHaveLength(1);
    answered.resolve({ action: 'decline' });
    expect(JSON.stringify(await result)).toContain('done');
    const types = (await world.api.logs((await world.api.ps({ all: true }))[0]?.runId as string)) as { type: string; data: object }[];
    expect(types.find(({ type }) => type === 'approval.answered')?.data).toMatchObject({ allowed: false });
  });

  it('a call or a session with delegated runs is given up only with the role for it', async () => {
    await using world = await createHttpWorld({ script });
    const client = await world.connect();
    const id = await delegate(world, client, 'hold');
    const headers = { 'mcp-session-id': client.transport.sessionId as string };
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 1, reason: 'enough' } };
    for (const request of [post(cancelled, headers), new Request(url, { method: 'DELETE', headers })])
      expect((await world.handler.handle(request, reader)).status).toBe(403);
    expect(await world.api.show(id)).toMatchObject({ status: 'running', driven: true });
    const steerer: Principal = { ...owner, role: 'steer' };
    expect((await world.handler.handle(new Request(url, { method: 'DELETE', headers }), steerer)).status).toBe(200);
    await world.api.cancel([id], 'enough');
  });

  it('a session that has delegated nothing may be ended by everybody it belongs to', async () => {
    await using world = await createHttpWorld();
    const { transport } = await world.connect(reader);
    const headers = { 'mcp-session-id': transport.sessionId as string };
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 1, reason: 'enough' } };
    expect((await world.handler.handle(post(cancelled, headers), reader)).status).toBe(202);
    expect((await world.handler.handle(new Request(url, { method: 'DELETE', headers }), reader)).status).toBe(200);
  });
});

describe('the end of a session', () => {
  const ends: [string, (world: World, client: HttpClient) => Promise<unknown>][] = [
    ['DELETE', (_, client) => client.transport.terminateSession()],
    [
      'a long time without the client',
      async (world, client) => {
        await client.client.close();
        await settle();
        world.pass(30 * 60_000);
        while (world.open.size > 0) await settle();
      },
    ],
    ['the end of the server', (world) => world.handler.close('its process was asked to stop')],
  ];

  it.each(ends)('%s pauses native runs and gives up their tree, so that another process can resume them', async (_, end) => {
    await using world = await createHttpWorld({ script });
    const client = await world.connect();
    const id = await delegate(world, client, 'hold');
    await end(world, client);
    expect(await world.api.show(id)).toMatchObject({ status: 'paused', outcome: null, driven: false });
    expect((await world.api.logs(id)).at(-1)?.type).toBe('run.paused');
    expect(world.open.size).toBe(0);
    await world.api.cancel([id], 'enough');
  });

  it.each(ends)('%s ends the runs of other dialects', async (_, end) => {
    await using world = await createHttpWorld({ script });
    const client = await world.connect(owner, { path: '/openfork' });
    const args = { subagent_type: 'explore', prompt: 'hold', description: 'x', run_in_background: true };
    await client.call('task', args);
    const [run] = await world.api.ps({ all: true });
    await end(world, client);
    expect(await world.api.show(run?.runId as string)).toMatchObject({ status: 'cancelled', outcome: { error: { code: 'client_gone' } } });
  });

  it('a session with an open stream is not idle', async () => {
    await using world = await createHttpWorld();
    const { client } = await world.connect();
    await settle();
    world.pass(24 * 60 * 60_000);
    expect((await client.listTools()).tools).toHaveLength(6);
  });

  it('afterwards its id is unknown, and the principal finds its runs in a new session', async () => {
    await using world = await createHttpWorld({ script });
    const first = await world.connect();
    const id = await delegate(world, first, 'find');
    const sessionId = first.transport.sessionId as string;
    await first.transport.terminateSession();
    const late = await world.handler.handle(post({ id: 1, method: 'ping' }, { 'mcp-session-id': sessionId }), owner);
    expect(late.status).toBe(404);
    expect(await (await world.connect()).text('delegate_read', { id, part: 'summary' })).toContain(secret);
  });
});

describe('calls', () => {
  it('a cancelled call ends its runs, and one that timed out leaves them running', async () => {
    await using world = await createHttpWorld({ script });
    const client = await world.connect();
    const stop = new AbortController();
    const cancelled = client.call('delegate', { tasks: [{ task: 'hold' }], wait_seconds: 600 }, { signal: stop.signal }).catch(() => {});
    const [first] = await waitForRuns(world, 1);
    stop.abort('enough');
    await cancelled;
    await world.api.wait([first as string], { any: false, signal: AbortSignal.timeout(10_000) });
    expect(await world.api.show(first as string)).toMatchObject({ status: 'cancelled' });
    await client.call('delegate', { tasks: [{ task: 'hold' }], wait_seconds: 600 }, { timeout: 50 }).catch(() => {});
    const [second] = await waitForRuns(world, 1);
    expect(await client.text('delegate_wait', { ids: [second], seconds: 0 })).toContain('running');
  });

  it.each([
    ['`_meta`', { _meta: { traceparent: trace('b') } }, { traceparent: trace('a') }, trace('b')],
    ['its HTTP header', {}, { traceparent: trace('a') }, trace('a')],
  ])('the runs of a call belong to the trace of %s', async (_, params, headers, expected) => {
    await using world = await createHttpWorld();
    const { transport } = await world.connect();
    const call = { name: 'delegate', arguments: { tasks: [{ task: 'x' }] }, ...params };
    const request = post({ id: 9, method: 'tools/call', params: call }, { ...headers, 'mcp-session-id': transport.sessionId as string });
    const id = findRunId(await (await world.handler.handle(request, owner)).text());
    expect((await world.api.logs(id))[0]).toMatchObject({ type: 'run.created', data: { trace: { traceparent: expected } } });
  });

  it('progress arrives on the stream of its call', async () => {
    await using world = await createHttpWorld();
    const { call } = await world.connect();
    const messages: (string | undefined)[] = [];
    await call('delegate', { tasks: [{ task: 'x', label: 'look' }] }, { onprogress: ({ message }) => void messages.push(message) });
    expect(messages[0]).toBe('look: turn 1');
  });

  it.each([
    ['with a stream for messages', true],
    ['without one, on the stream of the call', false],
  ])('a question reaches the client %s', async (_, hasStream) => {
    const grep = { runs: [{ times: 'any', steps: [{ calls: [{ tool: 'grep', args: { pattern: 'x' } }] }, { text: 'done' }] }] };
    const rulesets = [{ owner: 'test', kind: 'owner' as const, rules: [{ action: 'ask' as const, tool: 'grep', pattern: null }] }];
    await using world = await createHttpWorld({
      script: grep,
      rulesets: rulesets as never,
      options: { questions: { canAnswer: () => true, timeoutMs: 60_000 } },
    });
    const asked: string[] = [];
    const client = new Client({ name: 'asks', version: '1' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      asked.push(params.message);
      return { action: 'accept', content: { answer: 'allow this once' } };
    });
    const { call } = await world.connect(owner, { client, hasStream });
    const result = await call('delegate', { tasks: [{ task: 'x' }] });
    expect(JSON.stringify(result)).toContain('done');
    expect(asked).toEqual([expect.stringContaining('asks to use grep')]);
  });
});

function trace(digit: string): string {
  return `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;
}

async function waitForRuns(world: World, count: number): Promise<string[]> {
  for (;;) {
    const runs = (await world.api.ps({ all: false })).filter(({ kind, status }) => kind === 'agent' && status === 'running');
    if (runs.length >= count) return runs.map(({ runId }) => runId);
    await settle();
  }
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
