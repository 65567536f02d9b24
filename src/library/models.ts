// The model that a program passes in, beside the models that have names.
import { createNamedModels } from '../config/models.ts';
import type { Env } from '../config/user-folders.ts';
import { modelObjectToHandle } from '../models/model-object.ts';
import type { Provider } from '../models/models.ts';
import type { Price } from '../models/prices.ts';
import type { ModelHandle, Models } from '../ports/model.ts';

/** A model object of the AI SDK (V2 to V4). */
export interface ModelObject {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
}

/** A name (`anthropic/…`), a model object, or the result of `scriptedModel` of `retinue/testing`. */
export type AnyModel = string | ModelObject | Provider;

const givenName = 'given/model';

/** All models by name, and the name of the program's model. */
export function createLibraryModels(given: AnyModel, env: Env): { models: Models; model: string } {
  const named = createNamedModels(env);
  if (typeof given === 'string') return { models: named, model: given };
  let handle: Promise<ModelHandle> | null = null;
  const resolveGiven: Provider = typeof given === 'function' ? given : () => (handle ??= modelObjectToHandle(given));
  // Children ask for their parent's model by the id that its handle has.
  const givenIds = new Set([givenName]);
  const use = async (user: Parameters<Provider>[1]) => {
    const found = await resolveGiven('model', user);
    givenIds.add(found.id);
    return found;
  };
  return {
    model: givenName,
    models: {
      async resolve(name, user) {
        if (givenIds.has(name)) return use(user);
        try {
          return await named.resolve(name, user);
        } catch (error) {
          // A resumed run names it by the id that its handle had in another process.
          const found = await use(user);
          if (found.id === name) return found;
          throw error;
        }
      },
    },
  };
}

/** Says once per model that its runs have no cost limit by default, because its price is unknown. Not for a model that the program made itself. */
export function warnOfUnknownPrices(models: Models, prices: Record<string, Price>, warn: (message: string) => void): Models {
  const named = Object.keys(prices);
  const known = new Set<string>();
  return {
    async resolve(name, user) {
      const handle = await models.resolve(name, user);
      if (handle.price === null && !known.has(handle.id)) {
        known.add(handle.id);
        const others = named.length === 0 ? '' : `; it names only ${named.join(', ')}`;
        warn(`the price of ${handle.id} is unknown, so its runs have no cost limit by default: set it in \`prices\`${others}`);
      }
      return handle;
    },
  };
}
