import type { ModelHandle } from '../ports/model.ts';
import { adaptModel } from './adapt.ts';
import { knownOf, type Seller } from './known.ts';
import { withCacheMarkers } from './providers/cache.ts';
import { guarded } from './providers/guard.ts';

/**
 * A model that the library was given as an object, ready for runs: as V4, guarded, with what is known of it by its provider's name
 * (`anthropic.messages` sells as `anthropic`). Its id is `<provider>/<model>`; prices set by hand go by that.
 */
export async function givenModel(model: unknown): Promise<ModelHandle> {
  const adapted = adaptModel(model);
  const provider = String(adapted.provider).split('.')[0] || 'model';
  const known = await knownOf(sellerOf(provider), adapted.modelId);
  const guard = guarded(adapted, provider === 'anthropic' ? { prepare: withCacheMarkers } : {});
  return { id: `${provider}/${adapted.modelId}`, lane: provider, model: guard, ...known };
}

function sellerOf(provider: string): Seller | null {
  return provider === 'anthropic' || provider === 'openai' || provider === 'google' ? { kind: provider, baseURL: '' } : null;
}
