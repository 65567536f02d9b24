// Trees that exist only because changes of other trees were applied or taken back. They hold contents of those changes, so they are erased with them.
import type { Store } from '../ports/store.ts';
import { findRun } from './find-run.ts';

/** The given runs, and the ended trees whose plans are only about trees of these runs. Rejects like `findRun`. */
export async function withPlanTrees(ids: string[], store: Store): Promise<string[]> {
  const rows = await Promise.all(ids.map((id) => findRun(id, store)));
  const rootIds = new Set(rows.map(({ rootId }) => rootId));
  const found = new Set<string>();
  for (const fact of await store.facts({ types: ['changes.planned'] })) {
    if (fact.type !== 'changes.planned') continue;
    const owner = await store.run(fact.runId);
    if (owner?.kind !== 'client' || owner.parentId !== null || owner.endedAt === null) continue;
    const sources = await Promise.all(fact.data.runs.map((runId) => store.run(runId)));
    if (sources.every((row) => row !== null && rootIds.has(row.rootId))) found.add(owner.runId);
  }
  return [...rows.map(({ runId }) => runId), ...[...found].filter((runId) => !rootIds.has(runId))];
}
