import type { RunView, TreeQuery } from '../../../../src/contract/view.ts';

export type TreeFilter = Omit<TreeQuery, 'limit' | 'before'>;

/** States as a person looks for them. */
export const stateGroups: { id: string; label: string; statuses: RunView['status'][] }[] = [
  { id: 'live', label: 'Live', statuses: ['queued', 'running', 'waiting', 'paused', 'interrupted'] },
  { id: 'completed', label: 'Completed', statuses: ['completed'] },
  { id: 'failed', label: 'Failed', statuses: ['failed', 'timed_out', 'exhausted'] },
  { id: 'cancelled', label: 'Cancelled', statuses: ['cancelled'] },
];

/** The filter that an address names: `?state=failed&agent=explore&text=build`. */
export function queryToFilter(query: URLSearchParams): TreeFilter {
  const group = stateGroups.find(({ id }) => id === query.get('state'));
  return { status: group?.statuses, agent: query.get('agent') ?? undefined, text: query.get('text') ?? undefined };
}

export function isFiltered({ status, agent, text }: TreeFilter): boolean {
  return status !== undefined || agent !== undefined || text !== undefined;
}
