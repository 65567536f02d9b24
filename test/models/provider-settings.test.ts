// Variables, addresses and configured names of providers.
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { createModels } from '../../src/models/models.ts';
import { normaliseBaseUrl, ollamaBaseUrl } from '../../src/models/providers/base-url.ts';
import { createProviders, type ProviderSettings } from '../../src/models/providers.ts';
import { answer, ask, envOf, ground, key, names, textOf } from './providers-support.ts';
import { userOf } from './support.ts';

const resolve = (name: string, env: Record<string, string>, providers: Record<string, ProviderSettings> = {}) =>
  createModels({ providers: createProviders({ env, providers }) }).resolve(name, userOf());

describe('addresses', () => {
  test.each([
    ['https://api.example.com', 'https://api.example.com/v1'],
    ['https://api.example.com/', 'https://api.example.com/v1'],
    ['https://api.example.com/v1', 'https://api.example.com/v1'],
    ['https://api.example.com/v1/', 'https://api.example.com/v1'],
    [' http://localhost:1234/v1// ', 'http://localhost:1234/v1'],
    ['https://openrouter.ai/api', 'https://openrouter.ai/api/v1'],
    ['https://api.z.ai/api/paas/v4', 'https://api.z.ai/api/paas/v4'],
    ['https://generativelanguage.googleapis.com/v1beta/openai', 'https://generativelanguage.googleapis.com/v1beta/openai'],
    ['https://host/vendor', 'https://host/vendor/v1'],
  ])('%s', (given, wanted) => {
    expect(normaliseBaseUrl(given, 'v1', 'X')).toBe(wanted);
  });

  test.each(['localhost:1234', 'ftp://x', 'nonsense', 'https://user:secret@host/v1', 'https://host/v1?key=secret'])(
    '%s is refused by the name of its variable',
    (given) => {
      expect(() => normaliseBaseUrl(given, 'v1', 'OPENAI_BASE_URL')).toThrow(
        expect.objectContaining({ code: 'unknown_model', message: expect.stringContaining('OPENAI_BASE_URL') }),
      );
      expect(() => normaliseBaseUrl(given, 'v1', 'OPENAI_BASE_URL')).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('secret') }),
      );
    },
  );

  test.each([
    [undefined, 'http://127.0.0.1:11434'],
    ['localhost', 'http://localhost:11434'],
    ['0.0.0.0', 'http://127.0.0.1:11434'],
    ['0.0.0.0:8000', 'http://127.0.0.1:8000'],
    [':8000', 'http://127.0.0.1:8000'],
    ['http://box', 'http://box'],
    ['https://box/ollama/', 'https://box/ollama'],
    ['[::]:11434', 'http://[::1]:11434'],
  ])('OLLAMA_HOST=%s', (given, wanted) => {
    expect(ollamaBaseUrl(given)).toBe(wanted);
  });
});

test.each([
  ['claude-sonnet-5', 'did you mean anthropic/claude-sonnet-5?'],
  ['gpt-5', 'did you mean openai/gpt-5?'],
  ['nonsense', '(available: anthropic/…, openai/…'],
  ['anthropic/', 'there is no provider'],
])('the name %s', async (name, message) => {
  await expect(resolve(name, {})).rejects.toMatchObject({ code: 'unknown_model', message: expect.stringContaining(message) });
});

describe('missing settings', () => {
  test.each([
    ['anthropic/x', {}, 'ANTHROPIC_API_KEY'],
    ['openai/x', { OPENAI_API_KEY: '' }, 'OPENAI_API_KEY'],
    ['google/x', { GOOGLE_GENERATIVE_AI_API_KEY: ' ' }, 'GOOGLE_GENERATIVE_AI_API_KEY'],
    ['openai-compatible/x', { RETINUE_API_KEY: key }, 'RETINUE_BASE_URL'],
    ['work/x', { ANTHROPIC_API_KEY: key }, 'WORK_KEY'],
    ['lab/x', {}, 'providers.lab.baseURL'],
  ])('%s with %o: the error names %s', async (name, env, variable) => {
    const providers: Record<string, ProviderSettings> = {
      work: { kind: 'anthropic', apiKeyEnv: 'WORK_KEY' },
      lab: { kind: 'openai-compatible' },
    };
    await expect(resolve(name, env as Record<string, string>, providers)).rejects.toMatchObject({
      code: 'unknown_model',
      message: expect.stringContaining(variable),
    });
  });

  test('a key that is invalid in a header is rejected without being shown', async () => {
    const refused = resolve('openai/x', { OPENAI_API_KEY: 'sk-one\nsk-two' });
    await expect(refused).rejects.toMatchObject({ code: 'unknown_model', message: expect.stringContaining('OPENAI_API_KEY') });
    await expect(refused).rejects.toMatchObject({ message: expect.not.stringContaining('sk-one') });
  });

  test('a key that is set later is found', async () => {
    const env: Record<string, string> = {};
    const models = createModels({ providers: createProviders({ env }) });
    await expect(models.resolve('openai/gpt-5', userOf())).rejects.toMatchObject({ code: 'unknown_model' });
    env.OPENAI_API_KEY = `${key}\n`;
    expect(await models.resolve('openai/gpt-5', userOf())).toMatchObject({ id: 'openai/gpt-5', lane: 'openai' });
  });
});

test.each(['', '/', '/v1', '/v1/'])('every provider accepts a base address with %o at the end', async (end) => {
  const { server } = await ground(() => ({ text: 'here' }));
  const models = createModels({
    providers: createProviders({ env: envOf(`${server.url}${end}`), providers: { google: { kind: 'google', baseURL: server.url } } }),
  });
  for (const name of Object.values(names)) expect(textOf((await answer(await models.resolve(name, userOf()))).content)).toBe('here');
  expect(server.requests.map((request) => request.path.split('?')[0])).toEqual([
    '/v1/messages',
    '/v1/responses',
    '/v1beta/models/gemini-2.5-flash:streamGenerateContent',
    '/v1/chat/completions',
    '/v1/chat/completions',
  ]);
});

describe('configured names', () => {
  test('have their own address, key and lane', async () => {
    const { server } = await ground([{ text: 'x' }, { text: 'y' }]);
    const providers: Record<string, ProviderSettings> = {
      work: { kind: 'anthropic', baseURL: server.url, apiKeyEnv: 'WORK_KEY' },
      lab: { kind: 'openai-compatible', baseURL: `${server.url}/v1` },
    };
    const env = { ...envOf('http://127.0.0.1:1'), WORK_KEY: 'work-key-0123456789' };
    const work = await resolve('work/claude-sonnet-4-5', env, providers);
    expect(work).toMatchObject({ id: 'work/claude-sonnet-4-5', lane: 'work', contextWindow: 200_000 });
    await answer(work);
    await answer(await resolve('lab/some/model', env, providers));
    expect(server.requests.map((request) => request.headers['x-api-key'] ?? request.headers.authorization)).toEqual([
      'work-key-0123456789',
      `Bearer ${key}`,
    ]);
  });

  test('a key in any variable is kept out of errors', async () => {
    const secret = 'a-credential-of-somebody';
    const { server } = await ground([{ fault: { kind: 'status', status: 400, message: `bad ${secret}` } }]);
    const providers: Record<string, ProviderSettings> = { work: { kind: 'openai', baseURL: server.url, apiKeyEnv: 'WORK_LOGIN' } };
    const { result } = await ask(await resolve('work/gpt-5', { WORK_LOGIN: secret }, providers));
    expect(result).toMatchObject({ ok: false, failure: { error: { message: 'bad [secret WORK_LOGIN]' } } });
  });

  test('a variable overrides the configuration for its own provider', async () => {
    const { server } = await ground([{ text: 'x' }]);
    const env = { OPENAI_API_KEY: key, OPENAI_BASE_URL: server.url };
    await answer(await resolve('openai/gpt-5', env, { openai: { kind: 'openai', baseURL: 'http://127.0.0.1:1' } }));
    expect(server.requests).toHaveLength(1);
  });
});

test('all runs share one handle, and so one provider instance', async () => {
  const { models } = await ground([]);
  const [one, two] = await Promise.all([
    models.resolve(names.openai, userOf({ runId: '1' })),
    models.resolve(names.openai, userOf({ runId: '2' })),
  ]);
  expect(one).toBe(two);
});

test('uses only the variables that are passed in, and loads packages on demand', () => {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ resolve: (name, context, next) => (/^@(ai-sdk|pydantic)/.test(name) && loaded.push(name), next(name, context)) });
    const { createProviders } = await import('./src/models/providers.ts');
    const sent = [];
    const fetch = async (url, init) => { sent.push(String(url), init.headers['x-api-key']); return new Response('', { status: 500 }); };
    const { anthropic, google } = createProviders({ env: { ANTHROPIC_API_KEY: 'given' }, fetch });
    console.log(loaded.join());
    await google('x', {}).catch((error) => console.log(error.message));
    console.log(loaded.join());
    await (await anthropic('claude-x', {})).model.doStream({ prompt: [] }).catch(() => {});
    console.log(loaded.filter((name) => /anthropic$|openai|google|prices/.test(name)).join());
    console.log(sent.join());
  `;
  const env = { PATH: process.env.PATH, ANTHROPIC_API_KEY: 'other', ANTHROPIC_BASE_URL: 'nonsense', GOOGLE_GENERATIVE_AI_API_KEY: 'other' };
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], { env: env as NodeJS.ProcessEnv, encoding: 'utf8' });
  expect(out.split('\n')).toEqual([
    '',
    'google/… needs a key: set GOOGLE_GENERATIVE_AI_API_KEY',
    '',
    '@ai-sdk/anthropic,@pydantic/genai-prices',
    'https://api.anthropic.com/v1/messages,given',
    '',
  ]);
});
