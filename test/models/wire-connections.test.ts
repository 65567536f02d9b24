// Connections to providers: how many there are, which are used again, and when they end.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ground, names } from './providers-support.ts';
import { call, pairAt, rawServer } from './wire-support.ts';

const model = names['openai-compatible'];
const events = [
  '{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}',
  '[DONE]',
];
const body = events.map((data) => `data: ${data}\n\n`).join('');
const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n';

function answer(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body);
}

/** A server without HTTP: `onRequest` is called for each complete request. */
async function rawSockets(onRequest: (socket: Socket) => void): Promise<{ port: number; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (data) => {
      if (data.toString().endsWith('}')) onRequest(socket);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

test('requests do not wait for each other', async () => {
  const waiting: ServerResponse[] = [];
  const url = await rawServer((_request, response) => {
    waiting.push(response);
    // None is answered before all have arrived.
    if (waiting.length === 300) waiting.forEach(answer);
  });
  const { own } = await pairAt(url, model);
  const all = await Promise.all(Array.from({ length: 300 }, () => call(own)));
  expect(all.every(({ result }) => result.ok)).toBe(true);
});

test('a connection is kept for as long as the server announces', async () => {
  const announced = `${head}keep-alive: timeout=60\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const { port, sockets } = await rawSockets((socket) => socket.write(announced));
  const { own } = await pairAt(`http://127.0.0.1:${port}`, model);
  expect((await call(own)).result).toMatchObject({ ok: true });
  // Longer than without an announcement; the clock of sockets cannot be replaced.
  await new Promise((resolve) => setTimeout(resolve, 6_500));
  expect((await call(own)).result).toMatchObject({ ok: true });
  expect(sockets).toHaveLength(1);
}, 30_000);

test('a kept connection that the server has closed is not used again', async () => {
  const { port, sockets } = await rawSockets((socket) => socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`));
  const { own } = await pairAt(`http://127.0.0.1:${port}`, model);
  for (let n = 1; n <= 5; n++) {
    for (let time = 0; time < 3; time++) expect((await call(own)).result).toMatchObject({ ok: true });
    expect(sockets).toHaveLength(n);
    // Closed on both sides: the client has noticed.
    const closed = once(sockets.at(-1) as Socket, 'close');
    sockets.at(-1)?.end();
    await closed;
  }
});

test('a connection that is closed instead of a response is a retryable failure', async () => {
  const { port } = await rawSockets((socket) => socket.end());
  const { own } = await pairAt(`http://127.0.0.1:${port}`, model);
  expect((await call(own)).result).toMatchObject({ ok: false, failure: { error: { code: 'provider', retryable: true } } });
});

test('an abort ends an attempt to connect', async () => {
  const stop = new AbortController();
  const server = createServer((socket) => {
    closed = once(socket.on('error', () => {}).resume(), 'close');
    stop.abort(new Error('enough')); // The TLS handshake has not begun.
  });
  let closed: Promise<unknown> | null = null;
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  const { own } = await pairAt(`https://127.0.0.1:${(server.address() as AddressInfo).port}`, model);
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'go' }] }];
  await expect(own.model.doStream({ prompt, abortSignal: stop.signal })).rejects.toThrow('enough');
  expect(closed).not.toBeNull();
  await closed;
});

test('early hints are not the response', async () => {
  const { port } = await rawSockets((socket) => {
    socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n');
    socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  });
  const { own } = await pairAt(`http://127.0.0.1:${port}`, model);
  expect((await call(own)).result.ok).toBe(true);
});

test('a response may be read long after it has begun, complete or broken', async () => {
  const [large, started] = [Buffer.alloc(3_000_000, 'x'), Promise.withResolvers<void>()];
  const url = await rawServer((request, response) => {
    if (request.headers['x-broken'] === undefined) return void response.writeHead(200).end(large);
    response.writeHead(200).write('half', () => response.destroy());
    response.once('close', started.resolve);
  });
  const { own } = await pairAt(url, model);
  const post = (headers: Record<string, string>) => own.endpoint?.post({ body: '{}', headers, signal: new AbortController().signal });
  const whole = await post({});
  const broken = await post({ 'x-broken': '1' });
  await started.promise;
  let bytes = 0;
  await whole?.read((chunk) => {
    bytes += chunk.length;
  });
  expect(bytes).toBe(large.length);
  await expect(broken?.read(() => {})).rejects.toThrow('the connection broke in the middle of the answer');
});

/** Prints whether a connection was open when the process ended. */
const script = `
  const sockets = [];
  process.getBuiltinModule('node:diagnostics_channel').subscribe('net.client.socket', ({ socket }) => sockets.push(socket));
  const { createProviders } = await import('./src/models/providers.ts');
  const handle = await createProviders({ env: process.env })['openai-compatible']('x', {});
  const { stream } = await handle.model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }] });
  for await (const part of stream) if (part.type === 'text-delta') process.stdout.write(part.delta);
  process.on('exit', () => process.stdout.write(sockets.map((socket) => (socket.destroyed ? ' closed' : ' open')).join()));
`;

test('idle connections do not keep a process alive', async () => {
  const { server } = await ground(() => ({ text: 'said' }));
  const env = { PATH: process.env.PATH ?? '', RETINUE_BASE_URL: server.url };
  const out = await new Promise((done) => {
    execFile(process.execPath, ['--input-type=module', '-e', script], { env }, (error, text) => done(error ? error.message : text));
  });
  expect(out).toBe('said open');
});
