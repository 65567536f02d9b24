import { expect, onTestFinished, test } from 'vitest';
import { advised, modelAdvice } from '../../src/models/advice.ts';
import { knownOf } from '../../src/models/known.ts';
import { startProviderServer } from '../../src/testing/provider-server.ts';

const nobody: typeof fetch = async () => {
  throw new TypeError('fetch failed');
};
const secret = 'sk-very-secret-0123456789';

test('nothing is there', async () => {
  const text = await modelAdvice({ env: { PATH: '/bin', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '  ' }, probe: nobody });
  expect(text).toContain('export ANTHROPIC_API_KEY=…');
  expect(text).toContain('ollama pull qwen3');
  expect(text).not.toContain('is set');
});

test('a key in the environment is named and not shown', async () => {
  const text = await modelAdvice({ env: { OPENAI_API_KEY: secret, ANTHROPIC_API_KEY: secret }, probe: nobody });
  expect(text).not.toContain(secret);
  expect(text.split('\n').slice(2, 4)).toEqual([
    `  ANTHROPIC_API_KEY is set   retinue run --model ${advised.anthropic} "…"`,
    `  OPENAI_API_KEY is set      retinue run --model ${advised.openai} "…"`,
  ]);
  expect(text).toContain(`export RETINUE_MODEL=${advised.anthropic}`);
});

test("Google's key under another name", async () => {
  const text = await modelAdvice({ env: { GEMINI_API_KEY: secret }, probe: nobody });
  expect(text).toContain(`GOOGLE_GENERATIVE_AI_API_KEY="$GEMINI_API_KEY" retinue run --model ${advised.google} "…"`);
  expect(text).not.toContain(secret);
});

test('Ollama answers, with its first model', async () => {
  const server = await startProviderServer({ answer: [], models: ['nomic-embed-text', 'rm -rf /', 'llama3.2:3b', 'qwen3'] });
  onTestFinished(() => server.close());
  for (const host of [server.url, server.url.replace('http://', ''), server.url.replace('http://127.0.0.1', '')]) {
    expect(await modelAdvice({ env: { OLLAMA_HOST: host }, probe: fetch })).toContain('retinue run --model ollama/llama3.2:3b "…"');
  }
});

test('Ollama answers, but has no model yet', async () => {
  const server = await startProviderServer({ answer: [] });
  onTestFinished(() => server.close());
  const text = await modelAdvice({ env: { OLLAMA_HOST: server.url }, probe: fetch });
  expect(text).toContain('ollama pull qwen3 && retinue run --model ollama/qwen3 "…"');
});

test.each<[string, typeof fetch]>([
  ['never answers', () => new Promise(() => {})],
  ['is something else', async () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
  ['refuses', async () => new Response('', { status: 500 })],
])('what stands on the port of Ollama %s', async (_, probe) => {
  const started = Date.now();
  expect(await modelAdvice({ env: {}, probe })).toContain('no Ollama that answers');
  expect(Date.now() - started).toBeLessThan(600);
});

test('an address that cannot be one is nobody', async () => {
  expect(await modelAdvice({ env: { OLLAMA_HOST: 'http://[' }, probe: fetch })).toContain('no Ollama that answers');
});

test('the price of what is advised is known', async () => {
  for (const name of [advised.anthropic, advised.openai, advised.google]) {
    const [kind, model] = name.split('/') as ['anthropic' | 'openai' | 'google', string];
    const known = await knownOf({ kind, baseURL: '' }, model);
    expect([name, known.price !== null]).toEqual([name, true]);
  }
});
