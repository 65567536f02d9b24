// Requests: reused connections, unreachable addresses, and web streams for callers of the AI SDK's interface.
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { startProviderServer } from '../../src/testing/provider-server.ts';
import { answer, ground, names } from './providers-support.ts';
import { call, formats, pairAt, rawServer } from './wire-support.ts';

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
