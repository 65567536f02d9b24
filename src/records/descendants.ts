// Selects a run and its descendants from the facts or rows of its tree.
import type { Fact } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';

/** A filter for facts in order from the first: true for facts of the run and of its descendants. */
export function createDescendantFilter(runId: string): (fact: Fact) => boolean {
  const ids = new Set([runId]);
  return (fact) => {
    if (fact.type === 'run.created' && fact.data.parentId !== null && ids.has(fact.data.parentId)) ids.add(fact.runId);
    return ids.has(fact.runId);
  };
}

/** The rows of a run and of its descendants, in the given order. */
export function subtreeRows(rows: RunRow[], runId: string): RunRow[] {
  const ids = new Set([runId]);
  const parentsFirst = rows.toSorted((a, b) => a.depth - b.depth);
  for (const row of parentsFirst) if (row.parentId !== null && ids.has(row.parentId)) ids.add(row.runId);
  return rows.filter((row) => ids.has(row.runId));
}
