// Prices that the user or a script sets. known.ts looks up the prices of everything else.
import type { Usage } from '../contract/content.ts';
import type { Models } from '../ports/model.ts';

/** USD per million tokens. Without `cached` and `reasoning`, those tokens cost as much as other input and output. */
export interface Price {
  input: number;
  output: number;
  cached?: number | undefined;
  reasoning?: number | undefined;
}

export function createPriceFunction(price: Price): (usage: Usage) => number {
  return (usage) => {
    const uncached = Math.max(0, usage.input - usage.cached);
    const text = Math.max(0, usage.output - usage.reasoning);
    const input = uncached * price.input + usage.cached * (price.cached ?? price.input);
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
      return used ? { ...handle, price: createPriceFunction(used) } : handle;
    },
  };
}
