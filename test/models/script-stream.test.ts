import { APICallError } from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { createHandClock } from '../../src/testing/hand-clock.ts';
import { ask, models, prompt, steps } from './support.ts';

test('streams the parts that a provider would send', async () => {
  const step = {
    reasoning: 'hm',
    text: 'héllo',
    calls: [{ tool: 'read', args: { path: 'a' } }],
    chunkSize: 3,
    usage: { input: 10, output: 5, cached: 4, reasoning: 2 },
  };
  const handle = await models(steps(step))();
  expect(await ask(handle)).toEqual([
    { type: 'stream-start', warnings: [] },
    { type: 'reasoning-start', id: '0' },
    { type: 'reasoning-delta', id: '0', delta: 'hm' },
    { type: 'reasoning-end', id: '0' },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'hél' },
    { type: 'text-delta', id: '1', delta: 'lo' },
    { type: 'text-end', id: '1' },
    { type: 'tool-input-start', id: 'call_1_1', toolName: 'read' },
    ...['{"p', 'ath', '":"', 'a"}'].map((delta) => ({ type: 'tool-input-delta', id: 'call_1_1', delta })),
    { type: 'tool-input-end', id: 'call_1_1' },
    { type: 'tool-call', toolCallId: 'call_1_1', toolName: 'read', input: '{"path":"a"}' },
    {
      type: 'finish',
      finishReason: { unified: 'tool-calls', raw: 'tool-calls' },
      usage: {
        inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: undefined },
        outputTokens: { total: 5, text: 3, reasoning: 2 },
      },
    },
  ]);
});

test('doGenerate gives the same content', async () => {
  const handle = await models(steps({ text: 'yes', calls: [{ tool: 'x', raw: '{"not json', id: 'same' }], finish: 'length' }))();
  const result = await handle.model.doGenerate({ prompt: prompt('the task') });
  expect(result.content).toEqual([
    { type: 'text', text: 'yes' },
    { type: 'tool-call', toolCallId: 'same', toolName: 'x', input: '{"not json' },
  ]);
  expect(result.finishReason.unified).toBe('length');
});

test('chunks split no character', async () => {
  const handle = await models(steps({ text: 'a😀b😀', chunkSize: 1 }))();
  const deltas = (await ask(handle)).flatMap((part) => (part.type === 'text-delta' ? [part.delta] : []));
  expect(deltas).toEqual(['a', '😀', 'b', '😀']);
});

test('usage is estimated if it is omitted, and missing if it is null', async () => {
  const handle = await models(steps({ text: 'x' }, { text: 'x', usage: null }, {}))();
  const usageOf = async (asked: string) => {
    const last = (await ask(handle, { prompt: prompt(asked) })).at(-1);
    return last?.type === 'finish' ? [last.usage.inputTokens.total, last.usage.outputTokens.total] : [];
  };
  const bytes = (value: unknown): number => Math.ceil(Buffer.byteLength(JSON.stringify(value)) / 3);
  expect(await usageOf('the task')).toEqual([bytes(prompt('the task')), bytes([{ type: 'text', text: 'x' }])]);
  expect(await usageOf('the task')).toEqual([undefined, undefined]);
  expect(await usageOf('')).toEqual([bytes(prompt('')), 0]);
});

test('price, context window and output limit come from the file', async () => {
  const model = { contextWindow: 1000, maxOutputTokens: 50, price: { input: 3, output: 15, cached: 0.3 } };
  const handle = await models({ model, runs: [{ steps: [] }] })();
  expect(handle).toMatchObject({ id: 'script/s.json', contextWindow: 1000, maxOutputTokens: 50 });
  expect(handle.price?.({ input: 1000, output: 100, cached: 400, reasoning: 0, estimated: false })).toBeCloseTo(
    (600 * 3 + 400 * 0.3 + 1500) / 1e6,
    12,
  );
  expect((await models(steps())()).price).toBeNull();
});

test.each([
  { error: { status: 429, message: 'slow down', retryAfterMs: 1500 }, isRetryable: true, headers: { 'retry-after-ms': '1500' } },
  { error: { status: 401, message: 'who are you' }, isRetryable: false, headers: undefined },
  { error: { message: 'connection reset' }, isRetryable: true, headers: undefined },
])('$error.message is an APICallError', async ({ error, isRetryable, headers }) => {
  const handle = await models(steps({ error }, { error }))();
  for (const call of [handle.model.doStream, handle.model.doGenerate]) {
    const thrown = await Promise.resolve(call({ prompt: prompt('the task') })).catch((thrown) => thrown);
    expect(APICallError.isInstance(thrown)).toBe(true);
    expect(thrown).toMatchObject({ message: error.message, statusCode: error.status, isRetryable, responseHeaders: headers });
  }
});

test('an error after text is sent inside the stream', async () => {
  const handle = await models(steps({ text: 'half', error: { status: 529, message: 'overloaded' } }))();
  const parts = await ask(handle);
  expect(parts.map((part) => part.type)).toEqual(['stream-start', 'text-start', 'text-delta', 'text-end', 'error']);
});

test('delayMs uses the clock that is passed in', async () => {
  const clock = createHandClock();
  const handle = await models(steps({ text: 'late', delayMs: 60_000 }), clock)();
  let done = false;
  const asking = ask(handle).then(() => {
    done = true;
  });
  await clock.advance(59_999);
  expect(done).toBe(false);
  await clock.advance(1);
  await asking;
  expect(clock.pending()).toBe(0);
});

test('an abort ends a delay and leaves no timer', async () => {
  const clock = createHandClock();
  const handle = await models(steps({ text: 'late', delayMs: 60_000 }), clock)();
  const controller = new AbortController();
  const asking = ask(handle, { abortSignal: controller.signal });
  await clock.advance(10);
  controller.abort(new Error('enough'));
  await expect(asking).rejects.toThrow('enough');
  expect(clock.pending()).toBe(0);
});

test('a call that was aborted before it began uses no step', async () => {
  const handle = await models(steps({ text: 'one' }))();
  await expect(ask(handle, { abortSignal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
  expect((await ask(handle)).at(-1)?.type).toBe('finish');
});

test('hang at the start: no answer until the call is aborted', async () => {
  const handle = await models(steps({ hang: 'start' }, { hang: 'start' }))();
  for (const call of [handle.model.doStream, handle.model.doGenerate]) {
    const controller = new AbortController();
    const asking = Promise.resolve(call({ prompt: prompt('the task'), abortSignal: controller.signal }));
    const first = await Promise.race([asking, new Promise((resolve) => setTimeout(resolve, 30, 'nothing'))]);
    expect(first).toBe('nothing');
    controller.abort(new Error('enough'));
    await expect(asking).rejects.toThrow('enough');
  }
});

test('hang in the middle: some text, then nothing until the call is aborted', async () => {
  const handle = await models(steps({ text: '123456789', chunkSize: 1, hang: 'middle' }))();
  const controller = new AbortController();
  const { stream } = await handle.model.doStream({ prompt: prompt('the task'), abortSignal: controller.signal });
  let text = '';
  const reading = (async () => {
    for await (const part of stream) if (part.type === 'text-delta') text += part.delta;
  })();
  await expect.poll(() => text).toBe('12345');
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(text).toBe('12345');
  controller.abort(new Error('enough'));
  await expect(reading).rejects.toThrow('enough');
});

test('cancelling the reader ends a stream that hangs', async () => {
  const handle = await models(steps({ text: '123', hang: 'middle' }))();
  const { stream } = await handle.model.doStream({ prompt: prompt('the task') });
  const reader = stream.getReader();
  await reader.read();
  await reader.cancel('gone');
  expect((await reader.read()).done).toBe(true);
});
