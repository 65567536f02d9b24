// MCP over HTTP against clients that open too much, read nothing, lose their connection or send nonsense.
import { describe, expect, it } from 'vitest';
import { boundStream } from '../../src/mcp/bounded-stream.ts';
import { createEventStore } from '../../src/mcp/event-store.ts';
import type { Principal } from '../../src/mcp/http.ts';
import { createHttpWorld, initialize, owner, post, url } from './support-http.ts';

const other: Principal = { id: 'other-token', name: 'other', role: 'start' };
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

describe('sessions', () => {
  it('are bounded in all and for each principal, also when many are opened at the same time', async () => {
    await using world = await createHttpWorld({ bounds: { sessions: 5, sessionsOfPrincipal: 3 } });
    const open = async (principal: Principal) => (await world.handler.handle(post(initialize), principal)).status;
    const statuses = await Promise.all(Array.from({ length: 10 }, () => open(owner)));
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(7);
    expect(await Promise.all([open(other), open(other), open(other)])).toEqual([200, 200, 429]);
  });

  it('one that delegated nothing makes room for a new one after a minute', async () => {
    await using world = await createHttpWorld({ bounds: { sessions: 1 } });
    const first = await world.handler.handle(post(initialize), owner);
    await first.text();
    const id = first.headers.get('mcp-session-id') as string;
    expect((await world.handler.handle(post(initialize), other)).status).toBe(429);
    world.pass(60_000);
    expect((await world.handler.handle(post(initialize), other)).status).toBe(200);
    expect((await world.handler.handle(post({ id: 1, method: 'ping' }, { 'mcp-session-id': id }), owner)).status).toBe(404);
  });

  it.each([
    ['no session', new Request(url, { headers: { accept: 'text/event-stream' } }), 400],
    ['an unknown session', post({ id: 1, method: 'ping' }, { 'mcp-session-id': 'nobody' }), 404],
    ['another method than initialize', post({ id: 1, method: 'tools/list' }), 400],
    ['another method of HTTP', new Request(url, { method: 'PUT', body: '{}' }), 405],
    ['a body that is not JSON', new Request(url, { method: 'POST', headers: json, body: '{' }), 400],
    ['another type of body', new Request(url, { method: 'POST', headers: { ...json, 'content-type': 'text/plain' }, body: '{}' }), 415],
    ['an answer it cannot read', post(initialize, { accept: 'application/json' }), 406],
    ['a body that is nested too deep', new Request(url, { method: 'POST', headers: json, body: '['.repeat(200_000) }), 400],
    ['a body over the limit', new Request(url, { method: 'POST', headers: json, body: JSON.stringify('x'.repeat(5_000_000)) }), 413],
  ])('%s is refused and opens nothing', async (_, request, status) => {
    await using world = await createHttpWorld({ bounds: { sessions: 1 } });
    expect((await world.handler.handle(request, owner)).status).toBe(status);
    expect((await world.handler.handle(post(initialize), owner)).status).toBe(200);
  });

  it('a protocol version that nobody knows is refused', async () => {
    await using world = await createHttpWorld();
    const { transport } = await world.connect();
    const headers = { 'mcp-session-id': transport.sessionId as string, 'mcp-protocol-version': '1999-01-01' };
    expect((await world.handler.handle(post({ id: 1, method: 'ping' }, headers), owner)).status).toBe(400);
  });

  it.each([
    ['2025-03-26', 200],
    ['2025-06-18', 400],
    ['2024-11-05', 400],
  ])('a batch in a session of protocol version %s gets status %i', async (protocolVersion, status) => {
    await using world = await createHttpWorld();
    const opened = await world.handler.handle(post({ ...initialize, params: { ...initialize.params, protocolVersion } }), owner);
    await opened.text();
    const headers = { ...json, 'mcp-session-id': opened.headers.get('mcp-session-id') as string };
    const body = JSON.stringify([{ jsonrpc: '2.0', id: 1, method: 'ping' }]);
    const answer = await world.handler.handle(new Request(url, { method: 'POST', headers, body }), owner);
    expect(answer.status).toBe(status);
    if (status === 200) expect(await readUntil(answer, '"id":1')).toContain('"result":{}');
    else expect(await answer.json()).toMatchObject({ id: null, error: { code: -32600, message: expect.stringContaining('batches') } });
  });

  it('an `initialize` without a version is refused by name', async () => {
    await using world = await createHttpWorld({ bounds: { sessions: 1 } });
    const answer = await world.handler.handle(post({ ...initialize, params: {} }), owner);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      id: initialize.id,
      error: { code: -32602, message: expect.stringContaining('params.protocolVersion: is missing') },
    });
    expect((await world.handler.handle(post(initialize), owner)).status).toBe(200);
  });

  it('a server that stops opens none', async () => {
    await using world = await createHttpWorld();
    await world.handler.close('its process was asked to stop');
    expect((await world.handler.handle(post(initialize), owner)).status).toBe(503);
  });
});

it('a client that loses the stream of a call gets its result when it continues the stream', async () => {
  await using world = await createHttpWorld();
  const opened = await world.handler.handle(post(initialize), owner);
  await opened.text();
  const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') as string, 'mcp-protocol-version': '2025-11-25' };
  const call = { id: 5, method: 'tools/call', params: { name: 'delegate', arguments: { tasks: [{ task: 'x' }] } } };
  const response = await world.handler.handle(post(call, headers), owner);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const first = new TextDecoder().decode((await reader.read()).value);
  const lastId = /^id: (\S+)$/m.exec(first)?.[1] as string;
  await reader.cancel();
  const resumed = await world.handler.handle(
    new Request(url, { headers: { ...headers, accept: 'text/event-stream', 'last-event-id': lastId } }),
    owner,
  );
  expect(resumed.status).toBe(200);
  expect(await readUntil(resumed, '"id":5')).toContain('done');
});

describe('an event store', () => {
  const message = (id: number) => ({ jsonrpc: '2.0' as const, id, result: { text: 'x'.repeat(100) } });

  it('keeps the newest events of each stream within its bounds, and does not know older ones', async () => {
    const store = createEventStore({ maxEvents: 3, maxBytes: 10_000 });
    const ids: string[] = [];
    for (const [n, stream] of ['a', 'a', 'b', 'a'].entries()) ids.push(await store.storeEvent(stream, message(n)));
    expect(await store.getStreamIdForEventId?.(ids[0] as string)).toBeUndefined();
    const replayed: unknown[] = [];
    expect(await store.replayEventsAfter(ids[1] as string, { send: async (_, event) => void replayed.push(event) })).toBe('a');
    expect(replayed).toEqual([message(3)]);
  });

  it('keeps one event that is larger than its bound', async () => {
    const store = createEventStore({ maxEvents: 10, maxBytes: 50 });
    const first = await store.storeEvent('a', message(1));
    expect(await store.getStreamIdForEventId?.(first)).toBe('a');
    await store.storeEvent('a', message(2));
    expect(await store.getStreamIdForEventId?.(first)).toBeUndefined();
  });
});

it('a stream whose reader stops is cut at its bound, and the source is told', async () => {
  const chunk = new Uint8Array(1_000);
  let isCancelled = false;
  let ends = 0;
  let push!: () => void;
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      push = () => controller.enqueue(chunk);
    },
    cancel() {
      isCancelled = true;
    },
  });
  const stream = boundStream(source, { maxBytes: 100_000, maxBlockedMs: 30_000, now: () => 0 }, () => ends++);
  for (let i = 0; i < 70; i++) push();
  await settle();
  expect(stream.isCongested()).toBe(true);
  for (let i = 0; i < 50; i++) push();
  await settle();
  expect({ isCancelled, ends, congested: stream.isCongested() }).toEqual({ isCancelled: true, ends: 1, congested: false });
  await expect(new Response(stream.body).arrayBuffer()).rejects.toThrow(/has not read 100000 bytes/);
});

it('a stream whose reader takes nothing is cut after a while, and one that reads slowly is not', async () => {
  let [now, ends] = [0, 0];
  let push!: () => void;
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      push = () => controller.enqueue(new TextEncoder().encode(': keepalive\n\n'));
    },
  });
  const { body } = boundStream(source, { maxBytes: 100_000, maxBlockedMs: 30_000, now: () => now }, () => ends++);
  const beat = async () => {
    now += 15_000;
    push();
    await settle();
  };
  const reader = body.getReader();
  // Nothing is waiting for a long time: the reader has all there is.
  now += 3_600_000;
  for (let i = 0; i < 2; i++) await beat();
  for (let i = 0; i < 10; i++) {
    await reader.read();
    await beat();
  }
  expect(ends).toBe(0);
  await beat();
  expect(ends).toBe(0);
  await beat();
  expect(ends).toBe(1);
  await expect(reader.read()).rejects.toThrow(/has read nothing for too long/);
});

it('an open stream gets heartbeats', async () => {
  await using world = await createHttpWorld({ heartbeatMs: 5 });
  const { transport } = await world.connect(owner, { hasStream: false });
  const headers = { 'mcp-session-id': transport.sessionId as string, accept: 'text/event-stream' };
  const response = await world.handler.handle(new Request(url, { headers }), owner);
  expect(await readUntil(response, ': keepalive\n\n: keepalive\n\n')).not.toContain('data:');
});

async function readUntil(response: Response, text: string): Promise<string> {
  let all = '';
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    all += new TextDecoder().decode(chunk);
    if (all.includes(text)) break;
  }
  return all;
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
