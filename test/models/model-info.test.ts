import { expect, test } from 'vitest';
import type { Usage } from '../../src/contract/content.ts';
import { findModelInfo } from '../../src/models/model-info.ts';

const usage = (given: Partial<Usage>): Usage => ({ input: 0, output: 0, cached: 0, reasoning: 0, estimated: false, ...given });
const official = { baseURL: '' };

test('a known model has a price, a context window and an output limit', async () => {
  const info = await findModelInfo({ kind: 'anthropic', ...official }, 'claude-sonnet-4-5');
  expect(info).toMatchObject({ contextWindow: 200_000, maxOutputTokens: 32_000 });
  expect(info.price?.(usage({ input: 1000, output: 1000 }))).toBeCloseTo(0.018, 9);
});

test.each([
  ['anthropic', 'claude-of-tomorrow', 32_000],
  ['anthropic', 'claude-instant-of-somebody', 4096],
  ['openai', 'something-else', 8192],
  ['ollama', 'qwen3', 8192],
] as const)('%s/%s is unknown: no price and no context window, but an output limit', async (kind, model, maxOutputTokens) => {
  const { longCache, ...info } = await findModelInfo({ kind, ...official }, model);
  expect(info).toEqual({ price: null, contextWindow: null, maxOutputTokens });
  expect(longCache?.price ?? null).toBeNull();
});

test('the output limit leaves room for the input in a small context window', async () => {
  const { contextWindow, maxOutputTokens } = await findModelInfo({ kind: 'openai', ...official }, 'gpt-4');
  expect([contextWindow, maxOutputTokens]).toEqual([8192, 2048]);
});

test('a compatible server is recognised by its address only', async () => {
  const source = { kind: 'openai-compatible', baseURL: 'https://api.deepseek.com/v1' } as const;
  expect((await findModelInfo(source, 'deepseek-chat')).price?.(usage({ input: 1000 }))).toBeGreaterThan(0);
  expect((await findModelInfo({ ...source, baseURL: 'http://127.0.0.1:8080/v1' }, 'deepseek-chat')).price).toBeNull();
});

test('impossible usage is corrected, and a price is always a number or null', async () => {
  const { price } = await findModelInfo({ kind: 'openai', ...official }, 'gpt-5');
  expect(price?.(usage({ input: 10, cached: 20 }))).toBeCloseTo((10 * 0.125) / 1e6, 12);
  expect(price?.(usage({}))).toBe(0);
  expect(price?.(usage({ input: Number.NaN }))).toBeNull();
});

test('without a source nothing is known', async () => {
  expect(await findModelInfo(null, 'gpt-5')).toEqual({ price: null, contextWindow: null, maxOutputTokens: null });
});

test('written tokens are priced by what Anthropic reports, and for an hour at another price', async () => {
  const { price, longCache } = await findModelInfo({ kind: 'anthropic', ...official }, 'claude-sonnet-4-5');
  const used = usage({ input: 10_000, cached: 4000 });
  // $3 for input, 0.3 read, 3.75 written, 6 written for an hour.
  expect(price?.(used, 5000)).toBeCloseTo((1000 * 3 + 4000 * 0.3 + 5000 * 3.75) / 1e6, 12);
  expect(longCache?.price?.(used, 5000)).toBeCloseTo((1000 * 3 + 4000 * 0.3 + 5000 * 6) / 1e6, 12);
  expect(price?.(used)).toBeCloseTo((4000 * 0.3 + 6000 * 3.75) / 1e6, 12);
  expect(price?.(used, 0)).toBeCloseTo((6000 * 3 + 4000 * 0.3) / 1e6, 12);
});
