// Answers in one piece: a model object of the AI SDK is asked for them while nobody reads deltas, and streams otherwise.
import type { LanguageModelV4Content, LanguageModelV4GenerateResult, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import { expect, test } from 'vitest';
import { createMemoryStore, createRetinue } from '../../src/main/index.ts';
import { createModelCaller } from '../../src/models/call.ts';
import { modelObjectToHandle } from '../../src/models/model-object.ts';
import { createHandClock } from '../../src/testing/hand-clock.ts';

const usage = { inputTokens: { total: 9, noCache: 9, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 3, text: 3, reasoning: 0 } };
const call: LanguageModelV4Content = { type: 'tool-call', toolCallId: 'c', toolName: 'list', input: '{"path":"."}' };
const thought: LanguageModelV4Content = { type: 'reasoning', text: 'hm', providerMetadata: { mock: { signature: 's' } } };
const contents: LanguageModelV4Content[][] = [[thought, { type: 'text', text: 'I look.' }, call], [{ type: 'text', text: 'Done.' }]];

function toParts(content: LanguageModelV4Content[]): LanguageModelV4StreamPart[] {
  const parts = content.flatMap((part, n): LanguageModelV4StreamPart[] => {
    const id = String(n);
    if (part.type === 'text')
      return [
        { type: 'text-start', id },
        { type: 'text-delta', id, delta: part.text },
        { type: 'text-end', id },
      ];
    if (part.type !== 'reasoning') return [part as LanguageModelV4StreamPart];
    const end = { type: 'reasoning-end' as const, id, ...(part.providerMetadata && { providerMetadata: part.providerMetadata }) };
    return [{ type: 'reasoning-start', id }, { type: 'reasoning-delta', id, delta: part.text }, end];
  });
  return [...parts, { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage }];
}

function toWhole(content: LanguageModelV4Content[]): LanguageModelV4GenerateResult {
  return { content, finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] };
}

/** Answers the same in one piece and streamed. */
function createModel(more: { doGenerate?: (turn: number) => Promise<LanguageModelV4GenerateResult> } = {}) {
  const used: string[] = [];
  const contentOf = (prompt: unknown[]) => contents[prompt.length > 2 ? 1 : 0] as LanguageModelV4Content[];
  const model = new MockLanguageModelV4({
    async doGenerate({ prompt }) {
      used.push('whole');
      return more.doGenerate ? more.doGenerate(used.length) : toWhole(contentOf(prompt));
    },
    async doStream({ prompt }) {
      used.push('stream');
      return { stream: simulateReadableStream({ chunks: toParts(contentOf(prompt)), initialDelayInMs: null, chunkDelayInMs: null }) };
    },
  });
  return { model, used };
}

async function runOnce(model: MockLanguageModelV4, read: boolean) {
  const store = createMemoryStore();
  await using retinue = createRetinue({ model, store });
  const deltas: string[] = [];
  const run = await retinue.delegate({ task: 'look', agent: 'explore' });
  if (read) for await (const event of run.events()) if (event.type === 'delta') deltas.push(event.text);
  const outcome = await run.outcome;
  const answers = (await store.facts({ runId: run.id, types: ['model.answered'] })).map(({ data }) => data);
  return { status: outcome.status, summary: outcome.summary, answers, deltas };
}

test('an answer that nobody reads comes in one piece, and is recorded like a streamed one', async () => {
  const [quiet, read] = [createModel(), createModel()];
  const [whole, streamed] = [await runOnce(quiet.model, false), await runOnce(read.model, true)];
  expect(quiet.used).toEqual(['whole', 'whole']);
  // Whoever attaches gets deltas from the next call on.
  expect(read.used.at(-1)).toBe('stream');
  expect(streamed.deltas.join('')).toContain('Done.');
  expect(whole).toMatchObject({ status: 'completed', summary: 'Done.' });
  expect(whole.answers).toEqual(streamed.answers);
});

test('a model without answers in one piece streams', async () => {
  const { model, used } = createModel({ doGenerate: () => Promise.reject(new Error('not implemented')) });
  expect(await runOnce(model, false)).toMatchObject({ status: 'completed', summary: 'Done.' });
  expect(used).toEqual(['whole', 'stream', 'stream']);
});

test('a run whose call has failed streams from then on', async () => {
  const error = Object.assign(new Error('overloaded'), { statusCode: 500, isRetryable: true });
  const { model, used } = createModel({ doGenerate: () => Promise.reject(error) });
  expect(await runOnce(model, false)).toMatchObject({ status: 'completed' });
  expect(used).toEqual(['whole', 'stream', 'stream']);
});

test('a provider that is silent for too long ends the call, which counts with its estimated input', async () => {
  const clock = createHandClock();
  const { model } = createModel({ doGenerate: () => new Promise(() => {}) });
  const handle = await modelObjectToHandle(model);
  const calling = createModelCaller(clock)({
    model: handle.model,
    options: { prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] },
    requestBytes: 300,
    maxToolCalls: 8,
    firstByteMs: 30,
    idleMs: 100,
    onePieceMs: 130,
    signal: new AbortController().signal,
    onFirst() {},
    onDelta() {},
  });
  let isOver = false;
  void calling.then(() => {
    isOver = true;
  });
  await clock.advance(129);
  expect(isOver).toBe(false);
  await clock.advance(1);
  const result = await calling;
  expect(result).toMatchObject({ ok: false, failure: { error: { code: 'provider_timeout', retryable: true } }, usage: { input: 100 } });
});
