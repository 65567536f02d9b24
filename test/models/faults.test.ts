// Faults of providers in single calls: each gives a failure with a code, or a complete answer.
import { describe, expect, test } from 'vitest';
import type { Fault, ProviderStep } from '../../src/testing/provider-server.ts';
import { all, answer, ask, callsOf, ground, key, textOf } from './providers-support.ts';

const content: ProviderStep = {
  text: 'Some words that come in several pieces.',
  calls: [{ tool: 'look', args: { path: 'a/long/path/of/a/file' } }],
};

async function failed(model: string, step: ProviderStep, limits: { firstByteMs?: number; idleMs?: number } = {}) {
  const { handle, server } = await ground([step]);
  const { result } = await ask(await handle(model), { limits });
  if (result.ok) throw new Error(`answered: ${JSON.stringify(result.answer)}`);
  return { ...result, error: result.failure.error, server };
}

describe.each(all)('$provider', ({ model, provider }) => {
  test.each([401, 403])('status %i: no retry, and no trace of the key', async (status) => {
    const { error, failure } = await failed(model, { fault: { kind: 'status', status, message: `the key ${key} is wrong` } });
    expect(error).toMatchObject({ code: 'auth', retryable: false });
    expect(failure.limited).toBe(false);
    expect(error.message).toContain('is wrong');
    expect(error.message.includes(key)).toBe(provider === 'ollama'); // which has no key to know
  });

  test.each([429, 529, 503])('status %i: the lane backs off as long as the provider says', async (status) => {
    const exact = await failed(model, { fault: { kind: 'status', status, retryAfterMs: 120, retryAfter: 9 } });
    expect(exact.failure).toMatchObject({ error: { code: 'rate_limited', retryable: true }, limited: true, retryAfterMs: 120 });
    const seconds = await failed(model, { fault: { kind: 'status', status, retryAfter: 2 } });
    expect(seconds.failure.retryAfterMs).toBe(2000);
    const date = await failed(model, { fault: { kind: 'status', status, retryAfter: new Date(Date.now() + 60_000).toUTCString() } });
    expect(date.failure.retryAfterMs).toBeGreaterThan(50_000);
    expect(date.failure.retryAfterMs).toBeLessThanOrEqual(60_000);
    expect((await failed(model, { fault: { kind: 'status', status } })).failure.retryAfterMs).toBeNull();
  });

  test.each([500, 502, 504, 408])('status %i is retryable', async (status) => {
    const { error, failure } = await failed(model, { fault: { kind: 'status', status } });
    expect(error).toMatchObject({ code: 'provider', retryable: true });
    expect(failure.limited).toBe(false);
  });

  test('status 404 says what to check', async () => {
    const { error } = await failed(model, { fault: { kind: 'status', status: 404, message: 'no such model' } });
    expect(error).toMatchObject({ code: 'bad_request', retryable: false, message: expect.stringMatching(/^no such model \(.+\)$/) });
  });

  test.each([
    [400, 'prompt is too long: 208310 tokens > 200000 maximum'],
    [400, 'input length and `max_tokens` exceed context limit: 190000 + 21333 > 204698'],
    [400, 'Your input exceeds the context window of this model.'],
    [400, "This model's maximum context length is 128000 tokens."],
    [400, 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'],
    [400, 'the request exceeds the available context size, try increasing it'],
    [413, 'Request too large'],
  ])('status %i, %s', async (status, message) => {
    const { error } = await failed(model, { fault: { kind: 'status', status, message } });
    expect(error).toMatchObject({ code: 'context_length', retryable: false });
  });

  test.each<[string, Fault]>([
    ['a connection that is reset at once', { kind: 'reset' }],
    ['a connection that is reset in the middle', { kind: 'reset', when: 'middle' }],
    ['half a stream', { kind: 'half' }],
    ['an event that is not JSON', { kind: 'malformed-event' }],
  ])('%s is retryable, and no incomplete tool call is visible', async (_, fault) => {
    const { error, text } = await failed(model, { ...content, fault });
    expect(error).toMatchObject({ code: 'provider', retryable: true });
    expect(content.text?.startsWith(text)).toBe(true);
  });

  test('an incomplete tool call is never visible, even without text before it', async () => {
    const { error, usage } = await failed(model, { calls: content.calls ?? [], chunkSize: 2, fault: { kind: 'half' } });
    expect(error).toMatchObject({ code: 'provider', retryable: true });
    expect(usage?.estimated).toBe(true);
  });

  test('an error inside the stream keeps its status', async () => {
    const { error, failure } = await failed(model, {
      text: 'begun',
      fault: { kind: 'error-event', status: provider === 'anthropic' ? 529 : 429 },
    });
    expect(error).toMatchObject({ code: 'rate_limited', retryable: true });
    expect(failure.limited).toBe(true);
  });

  test('pings before the first event count as silence', async () => {
    const { error, server } = await failed(model, { fault: { kind: 'ping-only' } }, { firstByteMs: 150 });
    expect(error).toMatchObject({ code: 'provider_timeout', retryable: true });
    await expect.poll(() => server.requests[0]?.aborted).toBe(true); // the connection is let go
  });

  test('no first byte', async () => {
    const { error, server } = await failed(model, { fault: { kind: 'no-first-byte' } }, { firstByteMs: 150 });
    expect(error).toMatchObject({ code: 'provider_timeout', message: 'the provider sent nothing for 150 ms', retryable: true });
    await expect.poll(() => server.requests[0]?.aborted).toBe(true);
  });

  test.each([false, true])('silence in the middle (pings: %o)', async (pings) => {
    const { error, text, server } = await failed(model, { ...content, fault: { kind: 'stall', pings } }, { idleMs: 150 });
    expect(error).toMatchObject({ code: 'provider_timeout', message: 'the provider sent nothing for 150 ms' });
    expect(text).not.toBe('');
    await expect.poll(() => server.requests[0]?.aborted).toBe(true);
  });

  test('a slow stream is no silence', async () => {
    const { handle } = await ground([{ text: 'abcdefgh', chunkSize: 1, chunkDelayMs: 40 }]);
    const { content: said } = await answer(await handle(model), { limits: { firstByteMs: 250, idleMs: 250 } });
    expect(textOf(said)).toBe('abcdefgh');
  });

  test('characters that are split over packets stay whole', async () => {
    const text = 'é 你好 😀 ∑';
    const { handle } = await ground([{ text, calls: [{ tool: 'look', args: { path: '你/😀' } }], fault: { kind: 'split-utf8' } }]);
    const { content: said } = await answer(await handle(model));
    expect(textOf(said)).toBe(text);
    expect(callsOf(said)[0]?.input).toEqual({ path: '你/😀' });
  });

  test('half a surrogate pair becomes a replacement character', async () => {
    const { handle } = await ground([
      { text: 'x', reasoning: 'y', calls: [{ tool: 'look', args: { path: 'p' } }], fault: { kind: 'lone-surrogate' } },
    ]);
    const { content: said } = await answer(await handle(model));
    expect(textOf(said)).toBe('x\ufffd');
    expect(callsOf(said)[0]?.input).toEqual({ path: 'p\ufffd' });
    expect(JSON.stringify(said)).toBe(JSON.stringify(said).toWellFormed());
  });

  test.each<Fault['kind']>(['no-usage', 'negative-usage'])('%s: usage is estimated, never zero', async (kind) => {
    const { handle } = await ground([{ text: 'a text of some length', fault: { kind } as Fault }]);
    const { usage } = await answer(await handle(model));
    expect(usage).toEqual({ input: 100, output: 7, cached: 0, reasoning: 0, estimated: true });
  });

  test.each([1e300, 1e16, 2 ** 31 + 1])('a count of %d tokens is a mistake: usage is estimated', async (count) => {
    const { handle } = await ground([{ text: 'a text of some length', usage: { input: count, output: count, reasoning: count } }]);
    const { usage } = await answer(await handle(model));
    expect(usage).toEqual({ input: 100, output: 7, cached: 0, reasoning: 0, estimated: true });
  });

  test('a redirect is not followed, because it would send the key along', async () => {
    const other = await ground([{ text: 'elsewhere' }]);
    const { error } = await failed(model, { fault: { kind: 'redirect', to: `${other.server.url}/v1/messages` } });
    expect(error).toMatchObject({ code: 'provider', retryable: false, message: expect.stringContaining(other.server.url) });
    expect(other.server.requests).toEqual([]);
  });

  test('an aborted call ends at once and closes its connection', async () => {
    const { handle, server } = await ground([{ ...content, fault: { kind: 'stall' } }]);
    const controller = new AbortController();
    const asking = ask(await handle(model), { signal: controller.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    controller.abort({ code: 'cancelled', message: 'enough' });
    expect((await asking).result).toMatchObject({ ok: false, aborted: true });
    await expect.poll(() => server.requests[0]?.aborted).toBe(true);
  });
});

test('Google answers 400 to an unknown key', async () => {
  const message = 'API key not valid. Please pass a valid API key.';
  const { error } = await failed('google/gemini-2.5-flash', { fault: { kind: 'status', status: 400, message } });
  expect(error).toEqual({ code: 'auth', message: `${message} (check GOOGLE_GENERATIVE_AI_API_KEY)`, retryable: false });
});

test('a used-up quota is not retried', async () => {
  const message = 'You exceeded your current quota, please check your plan and billing details.';
  const { error, failure } = await failed('openai/gpt-5', { fault: { kind: 'status', status: 429, message } });
  expect(error).toMatchObject({ code: 'rate_limited', retryable: false });
  expect(failure.limited).toBe(false);
});

test('no server at the address', async () => {
  const { handle, server } = await ground([]);
  const resolved = await handle('ollama/qwen3');
  await server.close();
  const { result } = await ask(resolved);
  expect(result).toMatchObject({
    ok: false,
    failure: { error: { code: 'provider', retryable: true, message: expect.stringContaining('ECONNREFUSED') } },
  });
});
