// Requests over node:http: Node's proxy settings, reused connections, and unreachable addresses.
import { execFile } from 'node:child_process';
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { startProviderServer } from '../../src/testing/provider-server.ts';
import { answer, ground, names } from './providers-support.ts';
import { call, formats, pairAt, rawServer } from './wire-support.ts';

const script = `
  const { createProviders } = await import('./src/models/providers.ts');
  const handle = await createProviders({ env: process.env })['openai-compatible']('x', {});
  const { stream } = await handle.model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }] });
  for await (const part of stream) if (part.type === 'text-delta') process.stdout.write(part.delta);
`;

function run(env: Record<string, string>): Promise<string> {
  return new Promise((done) => {
    execFile(process.execPath, ['--input-type=module', '-e', script], { env: { PATH: process.env.PATH ?? '', ...env } }, (error, out) =>
      done(error ? `failed: ${error.message}` : out),
    );
  });
}

test("Node's proxy settings apply as they do for fetch", async () => {
  const { server } = await ground(() => ({ text: 'through' }));
  const passed: string[] = [];
  const proxy = await rawProxy(server.url, passed);
  const env = { RETINUE_BASE_URL: 'http://provider.test', HTTP_PROXY: proxy };
  expect(await run({ ...env, NODE_USE_ENV_PROXY: '1' })).toBe('through');
  expect(passed).toEqual(['http://provider.test/v1/chat/completions']);
  expect(await run(env)).toContain('ENOTFOUND'); // nobody asked for the proxy
  expect(passed).toHaveLength(1);
});

async function rawProxy(target: string, passed: string[]): Promise<string> {
  return rawServer((incoming, response) => {
    passed.push(incoming.url ?? '');
    const forward = request(`${target}${new URL(incoming.url ?? '').pathname}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    forward.on('response', (back) => back.pipe(response.writeHead(back.statusCode ?? 0, back.headers)));
    forward.end('{"model":"x","stream":true,"messages":[]}');
  });
}

test.each(formats)('$format: calls reuse one connection', async ({ model }) => {
  const ports = new Set<number | undefined>();
  const server = await startProviderServer({ answer: () => ({ text: 'x' }) });
  const url = await rawServer((incoming, response) => {
    ports.add(incoming.socket.remotePort);
    const forward = request(`${server.url}${incoming.url}`, { method: 'POST' });
    forward.on('response', (back) => back.pipe(response.writeHead(200, { 'content-type': 'text/event-stream' })));
    forward.end('{"stream":true}');
  });
  const { own } = await pairAt(url, model);
  for (let n = 0; n < 5; n++) expect((await call(own)).result.ok).toBe(true);
  await server.close();
  expect(ports.size).toBe(1);
});

test.each(formats)('$format: a missing TLS handshake is retryable', async ({ model }) => {
  const url = await rawServer((_request, response) => response.end());
  const { own } = await pairAt(url.replace('http:', 'https:'), model);
  expect((await call(own)).result).toMatchObject({ ok: false, failure: { error: { code: 'provider', retryable: true } } });
});

test.each(formats)('$format: doStream gives a web stream, and cancelling it closes the connection', async ({ model }) => {
  const { handle, server } = await ground([
    { text: 'abcdef', chunkSize: 1 },
    { text: 'abcdef', fault: { kind: 'stall' } },
  ]);
  const { model: language } = await handle(model);
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'go' }] }];
  const whole = await language.doStream({ prompt, maxOutputTokens: 10 });
  let said = '';
  for await (const part of whole.stream) if (part.type === 'text-delta') said += part.delta;
  expect(said).toBe('abcdef');
  const { stream } = await language.doStream({ prompt, maxOutputTokens: 10 });
  await stream.cancel('enough');
  await expect.poll(() => server.requests[1]?.aborted).toBe(true);
});

test('an address with brackets', async () => {
  const { server, handle } = await ground(() => ({ text: 'x' }));
  await answer(await handle(names.ollama));
  const { own } = await pairAt(server.url.replace('127.0.0.1', '[::1]'), names.ollama);
  const { result } = await call(own);
  expect(result).toMatchObject({ ok: false, failure: { error: { message: expect.stringMatching(/::1/) } } });
});
