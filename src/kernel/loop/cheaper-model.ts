// Switches a run to a cheaper model of its list when its budget cannot pay for a call.
import type { Usage } from '../../contract/content.ts';
import type { FactData } from '../../contract/fact.ts';
import { createModelRequester } from '../admission/admission.ts';
import type { Loop } from './loop-context.ts';

/** Switches to the next model of the list that is cheaper for this call; null if there is none. Models without a price are skipped. */
export async function switchToCheaper(loop: Loop, usage: Usage): Promise<FactData['model.asked']['instead'] | null> {
  const { run, services, model: before } = loop;
  const neededUsd = before.price?.(usage) ?? null;
  if (neededUsd === null) return null;
  for (const [index, name] of loop.fallbacks.entries()) {
    const model = await services.models.resolve(name, createModelRequester(run)).catch(() => null);
    const cost = model?.price?.(usage) ?? null;
    if (model === null || cost === null || cost >= neededUsd) continue;
    Object.assign(loop, { model, lane: services.lanes.lane(model.lane, model.account), fallbacks: loop.fallbacks.slice(index + 1) });
    return { leftUsd: run.budget.left().costUsd, neededUsd, of: before.id };
  }
  return null;
}
