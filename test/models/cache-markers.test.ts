import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { expect, test } from 'vitest';
import { withCacheMarkers } from '../../src/models/providers/cache-markers.ts';
import { answer, ground, names, tools } from './providers-support.ts';

const said = (text: string) => ({ role: 'user' as const, content: [{ type: 'text' as const, text }] });
const called = (id: string) => ({
  role: 'assistant' as const,
  content: [{ type: 'tool-call' as const, toolCallId: id, toolName: 'look', input: {} }],
});
const result = (id: string) => ({
  role: 'tool' as const,
  content: [{ type: 'tool-result' as const, toolCallId: id, toolName: 'look', output: { type: 'text' as const, value: 'seen' } }],
});
const prompt: LanguageModelV4Prompt = [
  { role: 'system', content: 'rules' },
  said('go'),
  called('a'),
  result('a'),
  called('b'),
  result('b'),
  said('and this'),
];
const ephemeral = { type: 'ephemeral' };

const markedAt = (options: LanguageModelV4CallOptions) =>
  options.prompt.flatMap((message, index) => (message.providerOptions?.anthropic?.cacheControl ? [index] : []));

test('marks the system prompt, the last tool, and the end of this request and the previous one', () => {
  const marked = withCacheMarkers({ prompt, tools });
  expect(markedAt(marked)).toEqual([0, 3, 6]);
  expect(marked.tools?.map((tool) => tool.type === 'function' && tool.providerOptions?.anthropic?.cacheControl)).toEqual([
    undefined,
    ephemeral,
  ]);
});

test('the markers move with the conversation', () => {
  expect(markedAt(withCacheMarkers({ prompt: prompt.slice(0, 2) }))).toEqual([0, 1]);
  expect(markedAt(withCacheMarkers({ prompt: prompt.slice(0, 4) }))).toEqual([0, 1, 3]);
});

test('does not modify its input and keeps other provider options', () => {
  const given = { prompt: [{ ...said('go'), providerOptions: { anthropic: { other: 1 }, google: { x: 2 } } }], tools };
  const before = structuredClone(given);
  const [message] = withCacheMarkers(given).prompt;
  expect(message?.providerOptions).toEqual({ anthropic: { other: 1, cacheControl: ephemeral }, google: { x: 2 } });
  expect(given).toEqual(before);
});

test('Anthropic gets four markers in the right positions', async () => {
  const { handle, server } = await ground([{ text: 'x' }]);
  await answer(await handle(names.anthropic), { messages: prompt.slice(1) });
  // biome-ignore lint/suspicious/noExplicitAny: a body of a wire format
  const body = server.requests[0]?.body as any;
  expect(body.tools.map((tool: { cache_control?: unknown }) => tool.cache_control)).toEqual([undefined, ephemeral]);
  expect(body.system[0].cache_control).toEqual(ephemeral);
  expect(body.messages.at(-1).content.at(-1).cache_control).toEqual(ephemeral);
  expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(4);
});

test.each([names.openai, names.google, names.ollama])('%s gets none', async (model) => {
  const { handle, server } = await ground([{ text: 'x' }]);
  await answer(await handle(model), { messages: prompt.slice(1) });
  expect(JSON.stringify(server.requests[0]?.body)).not.toMatch(/cache_?control/i);
});
