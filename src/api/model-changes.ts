// The models of a run: its list, and when and why it went on in it.
import type { ErasedFact, FactData, StoredFact } from '../contract/fact.ts';
import type { ModelChange, RunDetail } from '../contract/view.ts';

/** `facts`: at least its `model.asked`, in order. Null: the run was erased. */
export function describeModels(
  created: FactData['run.created'] | null,
  facts: (StoredFact | ErasedFact)[],
): Pick<RunDetail, 'models' | 'modelChanges' | 'effort'> {
  if (created === null) return {};
  const { models, effort } = created;
  const changes = findChanges(created.model, facts);
  return {
    ...(models !== undefined && models.length > 1 && { models }),
    ...(changes.length > 0 && { modelChanges: changes }),
    ...(effort !== undefined && { effort }),
  };
}

function findChanges(first: string | null, facts: (StoredFact | ErasedFact)[]): ModelChange[] {
  const changes: ModelChange[] = [];
  let current = first;
  for (const fact of facts) {
    // A summary may be written by another model, and an external agent may use several.
    if (fact.type !== 'model.asked' || !('data' in fact) || fact.data.purpose === 'compact' || fact.data.model === current) continue;
    const { turn, model, instead } = fact.data;
    if (current !== null) changes.push({ turn, model, ...(instead && { instead }) });
    current = model;
  }
  return changes;
}
