import { modelObjectToHandle } from '../models/model-object.ts';
import { createModels, type Provider } from '../models/models.ts';
import { createOfflineModels } from '../models/offline.ts';
import { createProviders } from '../models/providers.ts';
import { createScriptModels } from '../models/script.ts';
import type { ModelHandle, Models } from '../ports/model.ts';
import { systemClock } from '../system/clock.ts';

/** A model object of the AI SDK (V2 to V4), told by its `doStream`. */
export interface ModelObject {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
}

/** A name (`anthropic/…`), a model object, or what `scriptedModel` of `retinue/testing` gives. */
export type AnyModel = string | ModelObject | Provider;

const givenName = 'given/model';

/** Models by name, and the name that stands for the one that the program was given. */
export function libraryModels(given: AnyModel): { models: Models; model: string } {
  const named = {
    ...createProviders({ env: process.env }),
    offline: createOfflineModels(),
    script: createScriptModels({ clock: systemClock }),
  };
  if (typeof given === 'string') return { models: createModels({ providers: named }), model: given };
  let handle: Promise<ModelHandle> | null = null;
  const own: Provider = typeof given === 'function' ? given : () => (handle ??= modelObjectToHandle(given));
  const models = createModels({ providers: named });
  // Children ask for their parent's model by the id it has itself.
  const ids = new Set([givenName]);
  return {
    model: givenName,
    models: {
      async resolve(name, user) {
        if (!ids.has(name)) return models.resolve(name, user);
        const found = await own('model', user);
        ids.add(found.id);
        return found;
      },
    },
  };
}
