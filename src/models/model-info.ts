// Prices, context windows and output limits of models. Prices and windows come from @pydantic/genai-prices, output limits from a short table.
// Unknown values are null, never 0.
import type { Usage } from '../contract/content.ts';
import type { LongCache, ModelHandle, Price } from '../ports/model.ts';
import type { ProviderKind } from './providers/kinds.ts';
import { findLongCache } from './providers/long-cache.ts';

type Prices = typeof import('@pydantic/genai-prices');
export type ModelInfo = Pick<ModelHandle, 'price' | 'contextWindow' | 'maxOutputTokens'> & { longCache?: LongCache };

/** Who serves a model: this decides its price. */
export type ModelSource = { kind: ProviderKind; baseURL: string };

/** From this many tokens on, Anthropic caches marked input; some models need more. */
const minCacheTokens = 1024;

export async function findModelInfo(source: ModelSource | null, modelId: string): Promise<ModelInfo> {
  const priceSource = source === null ? null : findPriceSource(source);
  if (source === null || priceSource === null)
    return { contextWindow: null, maxOutputTokens: findMaxOutput(source?.kind ?? null, modelId, null), price: null };
  // Loaded on demand: the table takes about 30 ms.
  const prices: Prices = await import('@pydantic/genai-prices');
  const found = lookUpPrice(prices, { input_tokens: 1, output_tokens: 1 }, modelId, priceSource);
  const contextWindow = found?.model.context_window ?? null;
  const known = found?.model_price;
  const isPriced = known !== undefined && (known.input_mtok !== undefined || known.output_mtok !== undefined);
  const writes = { isPriced: known?.cache_write_mtok !== undefined, areAssumed: source.kind === 'anthropic' };
  const priceFor = (isLong: boolean): Price | null =>
    isPriced ? (usage, written) => calculateCost(prices, { usage, written, isLong }, modelId, { priceSource, writes }) : null;
  const long = findLongCache(source.kind, modelId);
  return {
    contextWindow,
    maxOutputTokens: findMaxOutput(source.kind, modelId, contextWindow),
    price: priceFor(false),
    ...(long && { longCache: { ...long, price: priceFor(source.kind === 'anthropic') } }),
  };
}

type PriceSource = { providerId: string } | { providerApiUrl: string };

function findPriceSource({ kind, baseURL }: ModelSource): PriceSource | null {
  if (kind === 'ollama') return null;
  return kind === 'openai-compatible' ? { providerApiUrl: baseURL } : { providerId: kind };
}

function lookUpPrice(prices: Prices, usage: Record<string, number>, modelId: string, source: PriceSource) {
  try {
    return prices.calcPrice(usage, modelId, source);
  } catch {
    return null; // The data does not fit this usage, so there is no price.
  }
}

interface Counts {
  usage: Usage;
  written: number | null | undefined;
  /** Written for an hour. */
  isLong: boolean;
}

/** Writing into a cache costs more. If the provider has not said how much it wrote, Anthropic counts as writing all that it did not read: the last message is always marked. */
function calculateCost(
  prices: Prices,
  { usage, written: counted, isLong }: Counts,
  modelId: string,
  { priceSource, writes }: { priceSource: PriceSource; writes: { isPriced: boolean; areAssumed: boolean } },
): number | null {
  const cached = Math.min(usage.cached, usage.input);
  const assumed = writes.areAssumed && usage.input >= minCacheTokens ? usage.input - cached : 0;
  const written = writes.isPriced ? Math.min(counted ?? assumed, usage.input - cached) : 0;
  const tokens = {
    input_tokens: usage.input,
    output_tokens: usage.output,
    ...(cached > 0 ? { cache_read_tokens: cached } : {}),
    ...(written > 0 ? { cache_write_tokens: written } : {}),
    ...(written > 0 && isLong ? { cache_write_1h_tokens: written } : {}),
  };
  const total = lookUpPrice(prices, tokens, modelId, priceSource)?.total_price;
  return total !== undefined && Number.isFinite(total) && total >= 0 ? total : null;
}

const defaultMaxOutput = 8192;
const largeMaxOutput = 32_000;

/** The first match counts. Many models allow more; this is enough for one answer of an agent. */
const outputLimits: Partial<Record<ProviderKind, [RegExp, number][]>> = {
  anthropic: [
    [/claude-(instant|v?[12]\b|3-(opus|sonnet|haiku))/, 4096],
    [/claude-3-5/, defaultMaxOutput],
    [/claude-/, largeMaxOutput],
  ],
  openai: [
    [/^gpt-(3\.5|4$|4-)/, 4096],
    [/^(gpt-4o|chatgpt-4o)/, 16_384],
    [/^(gpt-4\.1|gpt-[5-9]|o\d)/, largeMaxOutput],
  ],
  google: [
    [/gemini-(1|2\.0)/, defaultMaxOutput],
    [/gemini-/, largeMaxOutput],
  ],
};

function findMaxOutput(kind: ProviderKind | null, modelId: string, contextWindow: number | null): number | null {
  if (kind === null) return null;
  const [, max] = outputLimits[kind]?.find(([pattern]) => pattern.test(modelId)) ?? [null, defaultMaxOutput];
  return contextWindow === null ? max : Math.min(max, Math.floor(contextWindow / 4));
}
