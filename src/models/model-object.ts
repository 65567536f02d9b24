// Model objects that the library's caller passes in, made ready for runs: adapted to V4, guarded, with prices and limits.
import type { ModelHandle } from '../ports/model.ts';
import { adaptModel } from './adapt.ts';
import { findModelInfo, type ModelSource } from './model-info.ts';
import { withCacheMarkers } from './providers/cache-markers.ts';
import { guardModel } from './providers/guard.ts';

/** The id is `<provider>/<model>`, where the provider is the first part of the model's own: `anthropic` for `anthropic.messages`. */
export async function modelObjectToHandle(model: unknown): Promise<ModelHandle> {
  const adapted = adaptModel(model);
  const provider = String(adapted.provider).split('.')[0] || 'model';
  const known = await findModelInfo(findModelSource(provider), adapted.modelId);
  const guard = guardModel(adapted, provider === 'anthropic' ? { prepare: withCacheMarkers } : {});
  return { id: `${provider}/${adapted.modelId}`, lane: provider, model: guard, ...known };
}

function findModelSource(provider: string): ModelSource | null {
  return provider === 'anthropic' || provider === 'openai' || provider === 'google' ? { kind: provider, baseURL: '' } : null;
}
