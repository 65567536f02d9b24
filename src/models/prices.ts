// Prices that the user or a script sets. model-info.ts looks up the prices of everything else.
import type { LongCache, Models, Price as PriceFunction } from '../ports/model.ts';

/** USD per million tokens. Without their own price, tokens read from a cache or written into it cost as much as other input, and reasoning as other output. */
export interface Price {
  input: number;
  output: number;
  cached?: number | undefined;
  cacheWrite?: number | undefined;
  /** For tokens that are cached for an hour; `cacheWrite` by default. */
  cacheWrite1h?: number | undefined;
  reasoning?: number | undefined;
}

/** `isLong`: written tokens are cached for an hour. Where a price for writing is set, all input that was not read counts as written unless the provider says how much was. */
export function createPriceFunction(price: Price, isLong = false): PriceFunction {
  const write = (isLong ? price.cacheWrite1h : undefined) ?? price.cacheWrite ?? price.input;
  return (usage, written) => {
    const uncached = Math.max(0, usage.input - usage.cached);
    const put = Math.min(uncached, written ?? uncached);
    const text = Math.max(0, usage.output - usage.reasoning);
    const input = (uncached - put) * price.input + put * write + usage.cached * (price.cached ?? price.input);
    return (input + text * price.output + usage.reasoning * (price.reasoning ?? price.output)) / 1_000_000;
  };
}

/** The entry of `prices` for models without a known price. */
const anyModel = '*';

/** Prices by model id; they replace the ones that the models have themselves. The price of `*` is assumed for models without one. */
export function withPrices(models: Models, prices: Record<string, Price>): Models {
  return {
    async resolve(name, run) {
      const handle = await models.resolve(name, run);
      const price = Object.hasOwn(prices, handle.id) ? prices[handle.id] : undefined;
      const assumed = handle.price === null ? prices[anyModel] : undefined;
      const used = price ?? assumed;
      if (!used) return handle;
      const longCache: LongCache | undefined = handle.longCache && { ...handle.longCache, price: createPriceFunction(used, true) };
      return { ...handle, price: createPriceFunction(used), longCache };
    },
  };
}
