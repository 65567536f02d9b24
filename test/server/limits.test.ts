// What one client may ask for: streams, nesting, and what reaches the server while it stops.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openStream } from './sse.ts';
import { createTestServer, type TestServer, tokenOf } from './support.ts';

describe('event streams', () => {
  it('are limited for each principal and in all', async () => {
    await using server = await createTestServer({ listen: { events: { maxReaders: 3, maxReadersOfPrincipal: 2 } } });
    const open = (role: 'read' | 'steer') => openStream(server.server.url, '/api/events', { token: tokenOf(role) });
    const refused = async (role: 'read' | 'steer') => {
      const { status, headers, text } = await server.ask('/api/events', { token: tokenOf(role) });
      expect([status, headers['retry-after'], text]).toEqual([429, '60', expect.stringContaining('too many event streams')]);
    };
    const [first] = [await open('read'), await open('read')];
    await refused('read');
    await open('steer');
    await refused('steer');
    expect((await server.ask('/api/runs', { token: tokenOf('read') })).status).toBe(200);
    first.cut();
    await first.ended;
    await expect.poll(async () => (await openStream(server.server.url, '/api/events')).response.statusCode).toBe(200);
    await refused('read');
  });

  it('are described by HEAD without being opened', async () => {
    await using server = await createTestServer();
    const { status, headers } = await server.ask('/api/events', { method: 'HEAD' });
    expect([status, headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect((await server.ask('/metrics')).text).toContain('retinue_event_subscribers 0\n');
    expect((await server.ask('/api/events', { method: 'HEAD', token: null })).status).toBe(401);
  });
});

it('refuses a body that is nested too deep', async () => {
  await using server = await createTestServer();
  const nest = (depth: number) => `{"task":"x","context":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  for (const path of ['/api/runs', '/api/policy', '/api/runs/last/cancel']) {
    const { status, text } = await server.ask(path, { body: nest(200_000) });
    expect([status, text], path).toEqual([400, expect.stringContaining('more than 100 levels deep')]);
  }
  // Not too deep, but no brief.
  expect((await server.ask('/api/runs', { body: nest(90) })).text).toContain('invalid_brief');
});

it('measures how long the event loop was blocked since the last reading', async () => {
  await using server = await createTestServer({ listen: { publicMetrics: true } });
  const readMax = async () => {
    const { text } = await server.ask('/metrics', { token: null });
    return Number(/^retinue_event_loop_lag_seconds\{quantile="1"\} (\S+)$/m.exec(text)?.[1]);
  };
  expect(await readMax()).toBe(0);
  const block = async () => {
    await sleep(150);
    const until = performance.now() + 300;
    while (performance.now() < until);
    await sleep(150);
    return readMax();
  };
  await expect.poll(block, { timeout: 30_000 }).toBeGreaterThan(0.15);
});

describe('a request that the application does not see', () => {
  const send = ({ server }: TestServer, text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(server.port, '127.0.0.1', () => socket.write(text));
      let answer = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => {
        answer += chunk;
        if (answer.includes('\r\n\r\n')) socket.destroy();
      });
      socket.on('close', () => resolve(answer)).on('error', reject);
    });

  it.each([
    ['no host', 'GET /api/runs HTTP/1.1\r\n\r\n', 400],
    ['a host that is none', 'GET /api/runs HTTP/1.1\r\nHost: a b\r\n\r\n', 400],
    ['a path that is none', 'GET http://[ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n', 400],
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['headers without end', `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(40_000)}\r\n\r\n`, 431],
  ])('has the security headers in its answer: %s', async (_, text, status) => {
    await using server = await createTestServer();
    const answer = await send(server, text);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer.toLowerCase()).toContain("content-security-policy: default-src 'none'");
    expect(answer.toLowerCase()).toContain('x-content-type-options: nosniff');
    expect(answer.toLowerCase()).toContain('cache-control: no-store');
  });
});

it('refuses a request whose body arrives after it began to stop, and changes nothing', async () => {
  await using server = await createTestServer({ script: { runs: [{ times: 'any', steps: [{ text: 'done' }] }] } });
  const body = JSON.stringify({ task: 'late' });
  const answer = await new Promise<string>((resolve, reject) => {
    const head = ['POST /api/runs HTTP/1.1', `Host: 127.0.0.1:${server.server.port}`, `Authorization: Bearer ${tokenOf('start')}`];
    const socket = connect(server.server.port, '127.0.0.1', () => {
      socket.write(
        [...head, 'Content-Type: application/json', `Content-Length: ${body.length}`, 'Expect: 100-continue', '', ''].join('\r\n'),
      );
    });
    let text = '';
    let isStopping = false;
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      // The server reads the body from here on.
      if (!isStopping && text.includes('100 Continue')) {
        isStopping = true;
        void server.server.close();
        socket.write(body);
      }
    });
    socket.on('close', () => resolve(text)).on('error', reject);
  });
  expect(answer).toContain('HTTP/1.1 503 ');
  expect(answer).toContain('"code":"shutting_down"');
  expect(await server.world.store.runs({})).toEqual([]);
});

describe('names', () => {
  it.each(['127.0.0.2', '::1'])('%s is shown in the address and accepted', async (host) => {
    await using server = await createTestServer({ listen: { host } });
    const shown = host === '::1' ? '[::1]' : host;
    expect(server.server.url).toBe(`http://${shown}:${server.server.port}`);
    expect((await server.ask('/api/runs')).status).toBe(200);
    expect((await server.ask('/api/runs', { headers: { origin: server.server.url } })).status).toBe(200);
    expect((await server.ask('/api/runs', { headers: { host: `127.0.0.3:${server.server.port}` } })).status).toBe(403);
  });

  it.each(['retinue.example.org', 'retinue.example.org:443', 'retinue.example.org:80', 'RETINUE.example.org'])(
    'a proxy may pass on the host %s',
    async (host) => {
      const publicUrl = new URL('https://retinue.example.org');
      await using server = await createTestServer({ listen: { publicUrl, behindProxy: true } });
      const url = `http://127.0.0.1:${server.server.port}`;
      const ask = (headers: Record<string, string>) => server.ask(`${url}/api/runs`, { headers });
      expect((await ask({ host })).status).toBe(200);
      expect((await ask({ host, origin: 'https://retinue.example.org' })).status).toBe(200);
      expect((await ask({ host, origin: 'http://retinue.example.org' })).status).toBe(403);
      expect((await ask({ host: 'retinue.example.org:8443' })).status).toBe(403);
    },
  );
});
