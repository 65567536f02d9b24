// Model objects that the library's caller passes in, made ready for runs: adapted to V4, guarded, with prices and limits.
import type { ModelHandle } from '../ports/model.ts';
import { adaptModel } from './adapt.ts';
import { anyLevel, findEffortAbility } from './effort/abilities.ts';
import { planEffort } from './effort/plan.ts';
import { findModelInfo, type ModelSource } from './model-info.ts';
import { guardModel } from './providers/guard.ts';
import { providerKinds } from './providers/kinds.ts';

/** The id is `<provider>/<model>`, where the provider is the first part of the model's own: `anthropic` for `anthropic.messages`. */
export async function modelObjectToHandle(model: unknown): Promise<ModelHandle> {
  const adapted = adaptModel(model);
  const provider = String(adapted.provider).split('.')[0] || 'model';
  const source = findModelSource(provider);
  const known = await findModelInfo(source, adapted.modelId);
  const prepare = source && providerKinds[source.kind].prepare;
  const ability = findAbility(source, model as { specificationVersion: string; modelId: string });
  return {
    ...{ id: `${provider}/${adapted.modelId}`, lane: provider, model: guardModel(adapted, prepare ? { prepare } : {}) },
    ...known,
    ...(ability && { planEffort: (effort) => planEffort(ability, effort) }),
  };
}

function findModelSource(provider: string): ModelSource | null {
  return provider === 'anthropic' || provider === 'openai' || provider === 'google' ? { kind: provider, baseURL: '' } : null;
}

/** Older interfaces than V4 have no word for effort: they know only the options of their own provider. */
function findAbility(source: ModelSource | null, { specificationVersion, modelId }: { specificationVersion: string; modelId: string }) {
  if (source) return findEffortAbility(source.kind, modelId);
  return specificationVersion === 'v4' ? anyLevel : null;
}
