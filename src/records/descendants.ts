import type { Fact } from '../contract/fact.ts';

/** A filter for facts in order from the first: true for facts of the run and of its descendants. */
export function createDescendantFilter(runId: string): (fact: Fact) => boolean {
  const below = new Set([runId]);
  return (fact) => {
    if (fact.type === 'run.created' && fact.data.parentId !== null && below.has(fact.data.parentId)) below.add(fact.runId);
    return below.has(fact.runId);
  };
}
