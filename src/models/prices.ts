import type { Usage } from '../contract/content.ts';
import type { Models } from '../ports/model.ts';

/** USD for a million tokens. Cached input costs as other input where nothing is said of it, and reasoning as other output. */
export interface Price {
  input: number;
  output: number;
  cached?: number | undefined;
  reasoning?: number | undefined;
}

export function priceOf(price: Price): (usage: Usage) => number {
  return (usage) => {
    const fresh = Math.max(0, usage.input - usage.cached);
    const said = Math.max(0, usage.output - usage.reasoning);
    const input = fresh * price.input + usage.cached * (price.cached ?? price.input);
    return (input + said * price.output + usage.reasoning * (price.reasoning ?? price.output)) / 1_000_000;
  };
}

/** Prices set by hand hold before any that a model brings along. */
export function withPrices(models: Models, prices: Record<string, Price>): Models {
  return {
    async resolve(name, user) {
      const handle = await models.resolve(name, user);
      const own = Object.hasOwn(prices, handle.id) ? prices[handle.id] : undefined;
      return own ? { ...handle, price: priceOf(own) } : handle;
    },
  };
}
