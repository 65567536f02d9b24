// Model objects of the AI SDK's older interfaces.
import type { LanguageModelV2, LanguageModelV2StreamPart, LanguageModelV3StreamPart, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { MockLanguageModelV3, MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import { describe, expect, test } from 'vitest';
import { adaptModel } from '../../src/models/adapt.ts';
import { modelObjectToHandle } from '../../src/models/model-object.ts';
import { createWorld } from '../support/world.ts';
import { answer, ask, callsOf, textOf } from './providers-support.ts';

const streamOf = <T>(chunks: T[]) => ({ stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) });

type End = Pick<Extract<LanguageModelV2StreamPart, { type: 'finish' }>, 'finishReason' | 'usage'>;
const content = [
  { type: 'stream-start', warnings: [{ type: 'other', message: 'x' }] },
  { type: 'reasoning-start', id: 'r' },
  { type: 'reasoning-delta', id: 'r', delta: 'hm' },
  { type: 'reasoning-end', id: 'r', providerMetadata: { p: { signature: 's' } } },
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: 'I look.' },
  { type: 'text-end', id: 't' },
  { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{"path":"a"}', providerMetadata: { p: { id: 7 } } },
  { type: 'file', mediaType: 'image/png', data: 'AAAA' },
] as LanguageModelV2StreamPart[];
const usage = { inputTokens: 11, outputTokens: 5, totalTokens: 16, cachedInputTokens: 4, reasoningTokens: 2 };

class MockLanguageModelV2 implements LanguageModelV2 {
  readonly specificationVersion = 'v2';
  readonly provider = 'mock';
  readonly modelId = 'two';
  readonly supportedUrls = {};
  readonly asked: unknown[] = [];
  readonly end: End;
  constructor(end: End = { finishReason: 'tool-calls', usage }) {
    this.end = end;
  }
  async doGenerate(options: unknown) {
    this.asked.push(options);
    const file = { type: 'file' as const, mediaType: 'image/png', data: 'AAAA' };
    return { content: [{ type: 'text' as const, text: 'whole' }, file], ...this.end, warnings: [] };
  }
  async doStream(options: unknown) {
    this.asked.push(options);
    return streamOf([...content, { type: 'finish' as const, ...this.end }]);
  }
}

const v3Usage = {
  inputTokens: { total: 11, noCache: 7, cacheRead: 4, cacheWrite: 0 },
  outputTokens: { total: 5, text: 3, reasoning: 2 },
};
const v3 = (finishReason: { unified: 'other' | 'tool-calls'; raw: string | undefined }, given: typeof v3Usage | null = v3Usage) => {
  const none = { inputTokens: { total: undefined }, outputTokens: { total: undefined } } as unknown as typeof v3Usage;
  const finish: LanguageModelV3StreamPart = { type: 'finish', finishReason, usage: given ?? none };
  return new MockLanguageModelV3({ doStream: async () => streamOf([...(content as LanguageModelV3StreamPart[]), finish]) });
};

const handleOf = async (model: unknown) => ({ ...(await modelObjectToHandle(model)), maxOutputTokens: 100 });

test.each([
  ['V2', () => new MockLanguageModelV2()],
  ['V3', () => v3({ unified: 'tool-calls', raw: 'tool_use' })],
])('a %s model answers like any other', async (_, make) => {
  const said = await answer(await handleOf(make()));
  expect(textOf(said.content)).toBe('I look.');
  expect(callsOf(said.content)).toEqual([{ tool: 'look', input: { path: 'a' }, id: 'c' }]);
  expect(said.content.map((part) => part.meta)).toEqual([{ p: { signature: 's' } }, undefined, { p: { id: 7 } }]);
  expect(said).toMatchObject({ finish: 'tool-calls', usage: { input: 11, output: 5, cached: 4, reasoning: 2, estimated: false } });
});

test('a V4 model is used unchanged', () => {
  const model = new MockLanguageModelV4();
  expect(adaptModel(model)).toBe(model);
});

test('not streamed: finish, usage and files are converted', async () => {
  const result = await adaptModel(new MockLanguageModelV2()).doGenerate({ prompt: [] });
  expect(result).toMatchObject({
    content: [
      { type: 'text', text: 'whole' },
      { type: 'file', data: { type: 'data', data: 'AAAA' } },
    ],
    finishReason: { unified: 'tool-calls', raw: undefined },
    usage: { inputTokens: { total: 11, cacheRead: 4 }, outputTokens: { total: 5, reasoning: 2 } },
  });
});

describe('a stream that broke off, which older interfaces do not report', () => {
  const none = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined };
  test.each([
    ['V2 without reason and usage', new MockLanguageModelV2({ finishReason: 'unknown', usage: none }), false],
    ['V2 without reason', new MockLanguageModelV2({ finishReason: 'unknown', usage }), true],
    ['V2 with another reason', new MockLanguageModelV2({ finishReason: 'other', usage: none }), true],
    ['V3 without reason and usage', v3({ unified: 'other', raw: undefined }, null), false],
    ['V3 without reason', v3({ unified: 'other', raw: undefined }), true],
    ['V3 with a reason of its own', v3({ unified: 'other', raw: 'eos' }, null), true],
  ])('%s', async (_, model, whole) => {
    const { result } = await ask(await handleOf(model));
    expect(result.ok).toBe(whole);
    if (!result.ok) expect(result.failure.error).toMatchObject({ code: 'provider', retryable: true });
  });
});

test('the request is converted to the interface of the model', async () => {
  const prompt: LanguageModelV4Prompt = [
    { role: 'system', content: 'rules' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'see' },
        { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'é' } },
        { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://x/y.png') } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'custom', kind: 'a.b' },
        { type: 'text', text: 'so' },
      ],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: '1', toolName: 't', output: { type: 'execution-denied', reason: 'no' } },
        {
          type: 'tool-result',
          toolCallId: '2',
          toolName: 't',
          output: {
            type: 'content',
            value: [
              { type: 'text', text: 'a' },
              { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2]) } },
            ],
          },
        },
      ],
    },
  ];
  const before = JSON.stringify(prompt);
  const two = new MockLanguageModelV2();
  await adaptModel(two).doStream({ prompt, reasoning: 'high', maxOutputTokens: 7 });
  const three = v3({ unified: 'tool-calls', raw: 'x' });
  await adaptModel(three).doStream({ prompt, reasoning: 'high', maxOutputTokens: 7 });
  const files = [
    { type: 'text', text: 'see' },
    { type: 'file', mediaType: 'text/plain', data: new TextEncoder().encode('é') },
    { type: 'file', mediaType: 'image/png', data: new URL('https://x/y.png') },
  ];
  const outputs = (asked: unknown) =>
    (asked as { prompt: { content: { output: unknown }[] }[] }).prompt[3]?.content.map((part) => part.output);
  for (const asked of [two.asked[0], three.doStreamCalls[0]]) {
    expect(asked).toMatchObject({
      maxOutputTokens: 7,
      prompt: [{ content: 'rules' }, { content: files }, { content: [{ type: 'text', text: 'so' }] }, {}],
    });
    expect(asked).not.toHaveProperty('reasoning');
  }
  expect(outputs(two.asked[0])).toEqual([
    { type: 'error-text', value: 'no' },
    {
      type: 'content',
      value: [
        { type: 'text', text: 'a' },
        { type: 'media', mediaType: 'image/png', data: 'AQI=' },
      ],
    },
  ]);
  expect(outputs(three.doStreamCalls[0])).toEqual([
    { type: 'execution-denied', reason: 'no' },
    {
      type: 'content',
      value: [
        { type: 'text', text: 'a' },
        { type: 'file-data', mediaType: 'image/png', data: 'AQI=' },
      ],
    },
  ]);
  expect(JSON.stringify(prompt)).toBe(before);
});

test.each([
  ['a name', 'anthropic/claude'],
  ['nothing', undefined],
  ['null', null],
  ['an object', { provider: 'x' }],
  ['a model of an interface to come', { specificationVersion: 'v9', modelId: 'x', doStream: () => {} }],
  ['a model of the first interface', { modelId: 'x', doStream: () => {} }],
])('rejects %s', (_, given) => {
  expect(() => adaptModel(given)).toThrow(expect.objectContaining({ code: 'unknown_model' }));
});

test('an error of a model object contains the message, but not the request', async () => {
  const thrown = Object.assign(new Error('slow down'), {
    statusCode: 429,
    responseHeaders: { 'retry-after-ms': '70', cookie: 'c' },
    requestBodyValues: { secret: 1 },
  });
  const handle = await handleOf(
    new MockLanguageModelV4({
      doStream: async () => {
        throw thrown;
      },
    }),
  );
  const { result } = await ask(handle);
  expect(result).toMatchObject({
    ok: false,
    failure: { error: { code: 'rate_limited', message: 'slow down' }, retryAfterMs: 70, limited: true },
  });
  const seen = await Promise.resolve(handle.model.doStream({ prompt: [] })).catch((error) => error);
  expect(Object.keys(seen).sort()).toEqual(['name', 'responseHeaders', 'statusCode']);
});

test('a whole run with a model object', async () => {
  const handle = await modelObjectToHandle(new MockLanguageModelV2({ finishReason: 'stop', usage }));
  expect(handle).toMatchObject({ id: 'mock/two', lane: 'mock', price: null, maxOutputTokens: null });
  await using world = await createWorld({ options: { models: { resolve: async () => handle } } });
  const outcome = await (await world.runtime.start({ task: 'work', agent: 'explore', limits: { maxTurns: 1 } })).outcome;
  expect(outcome).toMatchObject({ status: 'exhausted', summary: 'I look.' });
});
