import { expect, test } from 'vitest';
import type { Usage } from '../../src/contract/content.ts';
import { knownOf } from '../../src/models/known.ts';

const usage = (given: Partial<Usage>): Usage => ({ input: 0, output: 0, cached: 0, reasoning: 0, estimated: false, ...given });
const official = { baseURL: '' };

test('a model of the data has a price, a window and room for an answer', async () => {
  const known = await knownOf({ kind: 'anthropic', ...official }, 'claude-sonnet-4-5');
  expect(known).toMatchObject({ contextWindow: 200_000, maxOutputTokens: 32_000 });
  expect(known.price?.(usage({ input: 1000, output: 1000 }))).toBeCloseTo(0.018, 9);
});

test.each([
  ['anthropic', 'claude-of-tomorrow', 32_000],
  ['anthropic', 'claude-instant-of-somebody', 4096],
  ['openai', 'something-else', 8192],
  ['ollama', 'qwen3', 8192],
] as const)('%s/%s is unknown: no price and no window, but room for an answer', async (kind, model, maxOutputTokens) => {
  expect(await knownOf({ kind, ...official }, model)).toEqual({ price: null, contextWindow: null, maxOutputTokens });
});

test('the answer leaves room for the question in a small window', async () => {
  const { contextWindow, maxOutputTokens } = await knownOf({ kind: 'openai', ...official }, 'gpt-4');
  expect([contextWindow, maxOutputTokens]).toEqual([8192, 2048]);
});

test('a compatible server is known by its address, and only by that', async () => {
  const seller = { kind: 'openai-compatible', baseURL: 'https://api.deepseek.com/v1' } as const;
  expect((await knownOf(seller, 'deepseek-chat')).price?.(usage({ input: 1000 }))).toBeGreaterThan(0);
  expect((await knownOf({ ...seller, baseURL: 'http://127.0.0.1:8080/v1' }, 'deepseek-chat')).price).toBeNull();
});

test('a price is never more than a number: usage that does not add up is cut to what fits', async () => {
  const { price } = await knownOf({ kind: 'openai', ...official }, 'gpt-5');
  expect(price?.(usage({ input: 10, cached: 20 }))).toBeCloseTo((10 * 0.125) / 1e6, 12);
  expect(price?.(usage({}))).toBe(0);
  expect(price?.(usage({ input: Number.NaN }))).toBeNull();
});

test('nobody known: nothing is set', async () => {
  expect(await knownOf(null, 'gpt-5')).toEqual({ price: null, contextWindow: null, maxOutputTokens: null });
});
