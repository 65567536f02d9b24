// The compactions of a run, for its detail.
import type { Fact } from '../contract/fact.ts';
import type { CompactionView } from '../contract/view.ts';
import type { Store } from '../ports/store.ts';

/** `facts`: those of the run with the type `context.compacted`, at least. Reads the answers only if there is one. */
export async function loadCompactions(runId: string, facts: Fact[], store: Store): Promise<{ compactions?: CompactionView[] }> {
  const compacted = facts.filter((fact) => fact.type === 'context.compacted');
  if (compacted.length === 0) return {};
  const answers = (await store.facts({ runId, types: ['model.answered'] })) as Fact[];
  return {
    compactions: compacted.map(({ at, seq, data }) => {
      const next = answers.find((fact) => fact.seq > seq);
      return { at, before: data.usage?.input ?? null, after: next?.type === 'model.answered' ? next.data.usage.input : null };
    }),
  };
}
