// What is known about models that do not say it themselves: prices and windows from @pydantic/genai-prices, the size of an answer from a
// short table. Unknown stays unknown.
import type { Usage } from '../contract/content.ts';
import type { ModelHandle } from '../ports/model.ts';
import type { ProviderKind } from './providers/kinds.ts';

type Prices = typeof import('@pydantic/genai-prices');
export type Known = Pick<ModelHandle, 'price' | 'contextWindow' | 'maxOutputTokens'>;

/** Where a model is served: that decides its price. Null: nobody known. */
export type Seller = { kind: ProviderKind; baseURL: string };

/** From this many tokens on, Anthropic writes what carries a marker into its cache; some of its models want more. */
const cacheFrom = 1024;

export async function knownOf(seller: Seller | null, modelId: string): Promise<Known> {
  const where = seller === null ? null : marketOf(seller);
  if (seller === null || where === null)
    return { contextWindow: null, maxOutputTokens: maxOutput(seller?.kind ?? null, modelId, null), price: null };
  // Not before somebody needs it: its table takes some 30 ms to load.
  const prices: Prices = await import('@pydantic/genai-prices');
  const found = lookUp(prices, { input_tokens: 1, output_tokens: 1 }, modelId, where);
  const contextWindow = found?.model.context_window ?? null;
  const priced = found && (found.model_price.input_mtok !== undefined || found.model_price.output_mtok !== undefined);
  return {
    contextWindow,
    maxOutputTokens: maxOutput(seller.kind, modelId, contextWindow),
    price: priced ? (usage) => cost(prices, usage, modelId, { where, cacheWrites: seller.kind === 'anthropic' }) : null,
  };
}

type Market = { providerId: string } | { providerApiUrl: string };

function marketOf({ kind, baseURL }: Seller): Market | null {
  if (kind === 'ollama') return null;
  return kind === 'openai-compatible' ? { providerApiUrl: baseURL } : { providerId: kind };
}

function lookUp(prices: Prices, usage: Record<string, number>, modelId: string, market: Market) {
  try {
    return prices.calcPrice(usage, modelId, market);
  } catch {
    return null; // data that does not fit the usage: as good as none
  }
}

/**
 * Usage does not tell cache writes from other input, and Anthropic asks more for them. Since the last message carries a marker, what was
 * not read from the cache was written into it, so it is counted as that.
 */
function cost(
  prices: Prices,
  usage: Usage,
  modelId: string,
  { where, cacheWrites }: { where: Market; cacheWrites: boolean },
): number | null {
  const cached = Math.min(usage.cached, usage.input);
  const written = cacheWrites && usage.input >= cacheFrom ? usage.input - cached : 0;
  const tokens = {
    input_tokens: usage.input,
    output_tokens: usage.output,
    ...(cached > 0 ? { cache_read_tokens: cached } : {}),
    ...(written > 0 ? { cache_write_tokens: written } : {}),
  };
  const total = lookUp(prices, tokens, modelId, where)?.total_price;
  return total !== undefined && Number.isFinite(total) && total >= 0 ? total : null;
}

const usual = 8192;
const large = 32_000;

/** The first match counts. What a model may say at most is often more; this is what one answer of an agent may need. */
const answers: Partial<Record<ProviderKind, [RegExp, number][]>> = {
  anthropic: [
    [/claude-(instant|v?[12]\b|3-(opus|sonnet|haiku))/, 4096],
    [/claude-3-5/, usual],
    [/claude-/, large],
  ],
  openai: [
    [/^gpt-(3\.5|4$|4-)/, 4096],
    [/^(gpt-4o|chatgpt-4o)/, 16_384],
    [/^(gpt-4\.1|gpt-[5-9]|o\d)/, large],
  ],
  google: [
    [/gemini-(1|2\.0)/, usual],
    [/gemini-/, large],
  ],
};

function maxOutput(kind: ProviderKind | null, modelId: string, contextWindow: number | null): number | null {
  if (kind === null) return null;
  const [, most] = answers[kind]?.find(([pattern]) => pattern.test(modelId)) ?? [null, usual];
  return contextWindow === null ? most : Math.min(most, Math.floor(contextWindow / 4));
}
