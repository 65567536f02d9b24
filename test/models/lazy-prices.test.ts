// The bundled price table is a changed form of @pydantic/genai-prices (scripts/lazy-prices.mjs): every price and window must be the package's.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as whole from '@pydantic/genai-prices';
import { expect, test } from 'vitest';
// @ts-expect-error The build's scripts are plain JavaScript.
import { makePricesLazy } from '../../scripts/lazy-prices.mjs';
import { createTestWorkspace } from '../support/workspace.ts';

type Prices = typeof whole;

const source = readFileSync(fileURLToPath(import.meta.resolve('@pydantic/genai-prices')), 'utf8');

const usages = [
  { input_tokens: 1, output_tokens: 1 },
  { input_tokens: 250_000, output_tokens: 9_000, cache_read_tokens: 40_000 },
  { input_tokens: 12_345, output_tokens: 678, cache_read_tokens: 1_000, cache_write_tokens: 9_999 },
];

test('a table that is read on demand has the prices and windows of the package', async () => {
  using place = createTestWorkspace();
  const { code, files } = makePricesLazy(source) as { code: string; files: Map<string, string> };
  for (const name of ['prices', 'chunks']) mkdirSync(join(place.folder, name));
  for (const [name, text] of files) writeFileSync(join(place.folder, 'prices', name), text);
  writeFileSync(join(place.folder, 'chunks', 'table.mjs'), code);
  const lazy = (await import(pathToFileURL(join(place.folder, 'chunks', 'table.mjs')).href)) as Prices;
  let compared = 0;
  for (const [name, text] of files) {
    const providerId = name.replace(/\.json$/, '');
    for (const { id } of JSON.parse(text) as { id: string }[])
      for (const usage of usages) {
        const [expected, found] = [whole, lazy].map((prices) => look(prices, usage, id, providerId));
        expect(found, `${providerId}/${id}`).toEqual(expected);
        compared++;
      }
  }
  expect(compared).toBeGreaterThan(1000);
  const provider = (prices: Prices) => prices.findProvider({ providerApiUrl: 'https://api.groq.com/openai/v1' })?.id;
  expect(provider(lazy)).toBe(provider(whole));
});

test('a package of another form is noticed', () => {
  expect(() => makePricesLazy(source.replace('const E =', 'const F ='))).toThrow('another form');
});

function look(prices: Prices, usage: Record<string, number>, model: string, providerId: string): unknown {
  try {
    const found = prices.calcPrice(usage, model, { providerId, timestamp: new Date('2026-11-01T12:00:00Z') });
    return found && { total: found.total_price, input: found.input_price, window: found.model.context_window, id: found.model.id };
  } catch (error) {
    return String(error);
  }
}
