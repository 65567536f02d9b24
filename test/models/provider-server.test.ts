// The test server itself, without a provider package.
import { expect, onTestFinished, test } from 'vitest';
import { type ProviderServerOptions, startProviderServer } from '../../src/testing/provider-server.ts';

async function start(options: ProviderServerOptions) {
  const server = await startProviderServer(options);
  onTestFinished(() => server.close());
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`${server.url}${path}`, { method: 'POST', body: JSON.stringify(body), headers });
  return { server, post };
}

test('records requests and recognises a provider by its path', async () => {
  const { server, post } = await start({ answer: ({ provider, model }) => ({ text: `${provider} ${model}` }) });
  const texts: string[] = [];
  for (const path of ['/v1/messages', '/v1/responses', '/v1/chat/completions', '/v1beta/models/m:generateContent']) {
    texts.push(await (await post(path, { model: 'm', stream: false }, { 'x-api-key': 'k' })).text());
  }
  expect(server.requests.map(({ n, provider, model, streamed }) => [n, provider, model, streamed])).toEqual([
    [1, 'anthropic', 'm', false],
    [2, 'openai', 'm', false],
    [3, 'openai-compatible', 'm', false],
    [4, 'google', 'm', false],
  ]);
  expect(server.requests[0]).toMatchObject({ headers: { 'x-api-key': 'k' }, body: { model: 'm' }, aborted: false });
  expect(texts.map((text, index) => text.includes(`${server.requests[index]?.provider} m`))).toEqual([true, true, true, true]);
});

test('a call beyond the list of answers fails without a retry', async () => {
  const { post } = await start({ answer: [{ text: 'one' }] });
  expect((await post('/v1/messages', {})).status).toBe(200);
  const second = await post('/v1/messages', {});
  expect([second.status, await second.text()]).toEqual([400, expect.stringContaining('no step for call 2')]);
});

test('lists its models in the formats of Ollama and OpenAI', async () => {
  const { server } = await start({ answer: [], models: ['a', 'b'] });
  const get = async (path: string) => (await fetch(`${server.url}${path}`)).json();
  expect(await get('/api/tags')).toEqual({ models: ['a', 'b'].map((name) => ({ name, model: name })) });
  expect(await get('/v1/models')).toEqual({ data: [{ id: 'a' }, { id: 'b' }] });
  expect((await fetch(`${server.url}/`)).status).toBe(404);
});

test('answers requests that are not JSON, and scenarios that throw', async () => {
  const { server, post } = await start({
    answer: () => {
      throw new Error('the scenario is at its end');
    },
  });
  expect((await fetch(`${server.url}/v1/messages`, { method: 'POST', body: '{' })).status).toBe(400);
  expect(await (await post('/v1/messages', {})).text()).toContain('the scenario is at its end');
});

test('close ends open connections', async () => {
  const { server, post } = await start({ answer: [{ fault: { kind: 'ping-only' } }, { fault: { kind: 'no-first-byte' } }] });
  const pings = await post('/v1/messages', { stream: true });
  const nothing = post('/v1/messages', { stream: true }).catch(() => 'cut');
  await expect.poll(() => server.requests.length).toBe(2);
  await server.close();
  expect(await nothing).toBe('cut');
  await expect(pings.text()).rejects.toThrow();
  await expect(fetch(server.url)).rejects.toThrow();
});
