import { expect, onTestFinished, test, vi } from 'vitest';
import { describeModelOptions, recommendedModels } from '../../src/models/advice.ts';
import { findModelInfo } from '../../src/models/model-info.ts';
import { startProviderServer } from '../../src/testing/provider-server.ts';
import { watchEventLoop } from '../support/cpu-time.ts';

const nobody: typeof fetch = async () => {
  throw new TypeError('fetch failed');
};
const secret = 'sk-very-secret-0123456789';

/** A busy machine may take longer than Ollama is given to answer. */
function waitForServer(): void {
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => new AbortController().signal);
  onTestFinished(() => timeout.mockRestore());
}

test('no key and no Ollama', async () => {
  const text = await describeModelOptions({ env: { PATH: '/bin', ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '  ' }, probe: nobody });
  expect(text).toContain('export ANTHROPIC_API_KEY=…');
  expect(text).toContain('ollama pull qwen3');
  expect(text).not.toContain('is set');
});

test('a key in the environment is named, but not shown', async () => {
  const text = await describeModelOptions({ env: { OPENAI_API_KEY: secret, ANTHROPIC_API_KEY: secret }, probe: nobody });
  expect(text).not.toContain(secret);
  expect(text.split('\n').slice(2, 4)).toEqual([
    `  ANTHROPIC_API_KEY is set   retinue run --model ${recommendedModels.anthropic} "…"`,
    `  OPENAI_API_KEY is set      retinue run --model ${recommendedModels.openai} "…"`,
  ]);
  expect(text).toContain(`retinue models use ${recommendedModels.anthropic}`);
});

test("Google's key under another name", async () => {
  const text = await describeModelOptions({ env: { GEMINI_API_KEY: secret }, probe: nobody });
  expect(text).toContain(`GOOGLE_GENERATIVE_AI_API_KEY="$GEMINI_API_KEY" retinue run --model ${recommendedModels.google} "…"`);
  expect(text).not.toContain(secret);
});

test('Ollama is running: its first model is suggested', async () => {
  const server = await startProviderServer({ answer: [], models: ['nomic-embed-text', 'rm -rf /', 'llama3.2:3b', 'qwen3'] });
  onTestFinished(() => server.close());
  waitForServer();
  for (const host of [server.url, server.url.replace('http://', ''), server.url.replace('http://127.0.0.1', '')]) {
    expect(await describeModelOptions({ env: { OLLAMA_HOST: host }, probe: fetch })).toContain(
      'retinue run --model ollama/llama3.2:3b "…"',
    );
  }
});

test('Ollama is running, but has no model yet', async () => {
  const server = await startProviderServer({ answer: [] });
  onTestFinished(() => server.close());
  waitForServer();
  const text = await describeModelOptions({ env: { OLLAMA_HOST: server.url }, probe: fetch });
  expect(text).toContain('ollama pull qwen3 && retinue run --model ollama/qwen3 "…"');
});

test.each<[string, typeof fetch]>([
  ['never answers', () => new Promise(() => {})],
  ['is not Ollama', async () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
  ['fails', async () => new Response('', { status: 500 })],
])('the server at the address of Ollama %s', async (_, probe) => {
  const stop = watchEventLoop();
  expect(await describeModelOptions({ env: {}, probe })).toContain('no API key or local Ollama server was found');
  expect(stop().passedMs).toBeLessThan(600);
});

test('an invalid address counts as no server', async () => {
  expect(await describeModelOptions({ env: { OLLAMA_HOST: 'http://[' }, probe: fetch })).toContain(
    'no API key or local Ollama server was found',
  );
});

test('the recommended models have a known price', async () => {
  for (const name of [recommendedModels.anthropic, recommendedModels.openai, recommendedModels.google]) {
    const [kind, model] = name.split('/') as ['anthropic' | 'openai' | 'google', string];
    const info = await findModelInfo({ kind, baseURL: '' }, model);
    expect([name, info.price !== null]).toEqual([name, true]);
  }
});
