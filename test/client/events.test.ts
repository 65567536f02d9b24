import { afterEach, describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../src/api/api.ts';
import { createClient } from '../../src/client/client.ts';
import type { ConnectionState } from '../../src/client/events.ts';
import { factText, type Handler, openEvents, sendJson, serve, type TestServer } from './support.ts';

const fast = { minMs: 1, maxMs: 4 };
let server: TestServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

async function start(handle: Handler): Promise<TestServer> {
  server = await serve(handle);
  return server;
}

async function take(stream: AsyncIterable<StreamEvent>, count: number): Promise<StreamEvent[]> {
  const taken: StreamEvent[] = [];
  for await (const event of stream) if (taken.push(event) === count) break;
  return taken;
}

const positions = (events: StreamEvent[]) => events.map((event) => (event.type === 'delta' ? 'delta' : event.position));

describe('the event stream of the client', () => {
  it('gives facts their position and passes deltas and resets on', async () => {
    const { url } = await start((_, response) => {
      openEvents(response);
      response.write(
        `${factText(3)}event: delta\ndata: {"type":"delta","runId":"a","turn":1,"kind":"text","text":"hi"}\n\n: heartbeat\n\n`,
      );
      response.write('event: something-new\ndata: {}\n\nid: 9\nevent: reset\ndata: {"type":"reset","position":"9"}\n\n');
    });
    const events = await take(createClient({ url }).events({ tree: 'a' }), 3);
    expect(events).toEqual([
      { runId: '0'.repeat(16), seq: 3, type: 'note', data: { text: 'é3' }, position: '3' },
      { type: 'delta', runId: 'a', turn: 1, kind: 'text', text: 'hi' },
      { type: 'reset', position: '9' },
    ]);
  });

  it('continues after the last whole event when the connection is cut in the middle of one', async () => {
    let connections = 0;
    const { url, requests } = await start((request, response) => {
      openEvents(response);
      const after = Number(request.headers['last-event-id'] ?? 0);
      const text = Array.from({ length: 5 }, (_, i) => factText(after + i + 1)).join('');
      // The first connections end in the middle of their second event.
      if (++connections < 4) response.write(text.slice(0, factText(1).length + 20), () => response.destroy());
      else response.write(text);
    });
    const states: string[] = [];
    const stream = createClient({ url, reconnect: fast }).events({ tree: 'a', onConnection: ({ state }) => states.push(state) });
    expect(positions(await take(stream, 8))).toEqual(['1', '2', '3', '4', '5', '6', '7', '8']);
    expect(requests.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '1', '2', '3']);
    expect(states).toEqual([...Array.from({ length: 3 }, () => ['connecting', 'open', 'waiting']).flat(), 'connecting', 'open']);
  });

  it('continues after the position of a reset', async () => {
    let connections = 0;
    const { url, requests } = await start((_, response) => {
      openEvents(response);
      if (++connections === 1) response.end('event: reset\ndata: {"type":"reset","position":"40"}\n\n');
      else response.write(factText(41));
    });
    const events = await take(createClient({ url, reconnect: fast }).events({ after: '2' }), 2);
    expect(positions(events)).toEqual(['40', '41']);
    expect(requests.map(({ headers }) => headers['last-event-id'])).toEqual(['2', '40']);
  });

  it('asks for the newest position first, so that a cut before the first event loses nothing', async () => {
    let connections = 0;
    const { url, requests } = await start((request, response) => {
      if (request.url === '/api/position') return sendJson(response, 200, { position: '12' });
      openEvents(response);
      if (++connections === 1) response.destroy();
      else response.write(factText(13));
    });
    await take(createClient({ url, reconnect: fast }).events(), 1);
    expect(requests.slice(1).map(({ headers }) => headers['last-event-id'])).toEqual(['12', '12']);
  });

  it('leaves a connection that sends no heartbeat, and keeps one that does', async () => {
    let connections = 0;
    const { url, requests } = await start((_, response) => {
      openEvents(response);
      if (++connections === 1) return;
      let beats = 0;
      const timer = setInterval(() => {
        response.write(': heartbeat\n\n');
        if (++beats === 20) {
          clearInterval(timer);
          response.write(factText(1));
        }
      }, 20);
    });
    const states: ConnectionState[] = [];
    const client = createClient({ url, reconnect: { ...fast, silenceMs: 200 } });
    await take(client.events({ tree: 'a', onConnection: (state) => states.push(state) }), 1);
    expect(requests.length).toBeGreaterThan(1);
    expect(states).toContainEqual(
      expect.objectContaining({ state: 'waiting', reason: expect.stringContaining('sent nothing for too long') }),
    );
  });

  it('tries again while the server is down, overloaded or behind a proxy without it', async () => {
    const statuses = [503, 429, 502];
    const { url } = await start((_, response) => {
      const status = statuses.shift();
      if (status === 502) return response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>bad gateway</h1>');
      if (status !== undefined) return sendJson(response, status, { error: { code: 'shutting_down', message: 'the server is stopping' } });
      openEvents(response);
      response.write(factText(1));
    });
    const reasons: string[] = [];
    const onConnection = (state: ConnectionState) => void (state.state === 'waiting' && reasons.push(state.reason));
    await take(createClient({ url, reconnect: fast }).events({ tree: 'a', onConnection }), 1);
    expect(reasons).toEqual(['the server is stopping', 'the server is stopping', expect.stringContaining('status 502')]);
  });

  it('ends with the error of the server if the answer will not change', async () => {
    const { url } = await start((_, response) =>
      sendJson(response, 401, { error: { code: 'unauthorized', message: 'the token is not valid' } }),
    );
    await expect(take(createClient({ url, reconnect: fast }).events({ tree: 'a' }), 1)).rejects.toMatchObject({
      code: 'unauthorized',
      status: 401,
      message: 'the token is not valid',
    });
  });

  it('ends with an error if the answer is not an event stream', async () => {
    const { url } = await start((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello</p>'));
    await expect(take(createClient({ url, reconnect: fast }).events({ tree: 'a' }), 1)).rejects.toMatchObject({ code: 'not_retinue' });
  });

  it('ends with an error if an event cannot be read', async () => {
    const { url } = await start((_, response) => {
      openEvents(response);
      response.write('id: 1\nevent: fact\ndata: {"cut\n\n');
    });
    await expect(take(createClient({ url, reconnect: fast }).events({ tree: 'a' }), 1)).rejects.toThrow(/an event that cannot be read/);
  });

  it('ends without an error when the signal fires, while it reads and while it waits', async () => {
    const { url } = await start((_, response) => openEvents(response));
    const stop = new AbortController();
    const onConnection = ({ state }: ConnectionState) => void (state === 'open' && stop.abort());
    expect(await take(createClient({ url }).events({ tree: 'a', signal: stop.signal, onConnection }), 1)).toEqual([]);
    const other = new AbortController();
    const client = createClient({ url: 'http://127.0.0.1:1', reconnect: { minMs: 60_000, maxMs: 60_000 } });
    const whenWaiting = ({ state }: ConnectionState) => void (state === 'waiting' && other.abort());
    expect(await take(client.events({ tree: 'a', signal: other.signal, onConnection: whenWaiting }), 1)).toEqual([]);
  });

  it('closes the connection when the reader leaves the loop', async () => {
    const closed = Promise.withResolvers<void>();
    const { url } = await start((request, response) => {
      request.socket.on('close', () => closed.resolve());
      openEvents(response);
      response.write(factText(1) + factText(2));
    });
    await take(createClient({ url }).events({ tree: 'a' }), 1);
    await closed.promise;
  });
});
