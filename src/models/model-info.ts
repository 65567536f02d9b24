// Prices, context windows and output limits of models. Prices and windows come from @pydantic/genai-prices, output limits from a short table.
// What is unknown is null, never 0.
import type { Usage } from '../contract/content.ts';
import type { ModelHandle } from '../ports/model.ts';
import type { ProviderKind } from './providers/kinds.ts';

type Prices = typeof import('@pydantic/genai-prices');
export type ModelInfo = Pick<ModelHandle, 'price' | 'contextWindow' | 'maxOutputTokens'>;

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
  const priced = found && (found.model_price.input_mtok !== undefined || found.model_price.output_mtok !== undefined);
  return {
    contextWindow,
    maxOutputTokens: findMaxOutput(source.kind, modelId, contextWindow),
    price: priced ? (usage) => calculateCost(prices, usage, modelId, { priceSource, cacheWrites: source.kind === 'anthropic' }) : null,
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

/**
 * Anthropic charges more for cache writes, but usage does not tell them from other input. Because the last message is always marked, all input
 * that was not read from the cache counts as written.
 */
function calculateCost(
  prices: Prices,
  usage: Usage,
  modelId: string,
  { priceSource, cacheWrites }: { priceSource: PriceSource; cacheWrites: boolean },
): number | null {
  const cached = Math.min(usage.cached, usage.input);
  const written = cacheWrites && usage.input >= minCacheTokens ? usage.input - cached : 0;
  const tokens = {
    input_tokens: usage.input,
    output_tokens: usage.output,
    ...(cached > 0 ? { cache_read_tokens: cached } : {}),
    ...(written > 0 ? { cache_write_tokens: written } : {}),
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
