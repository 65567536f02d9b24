// Finds out whether a whole tree is paused: nothing happens in it until a user or the clock continues it.
import type { FactData } from '../contract/fact.ts';
import type { Instant } from '../contract/ids.ts';
import type { RunRow } from '../contract/run.ts';
import type { Store } from '../ports/store.ts';
import { isFullyPaused } from './tree-status.ts';

export interface TreePause {
  /** When the runtime continues the tree; null if a user has to. */
  until: Instant | null;
  /** Why its runs are paused. */
  reasons: string[];
}

/** Null if a run of the tree is active, and if the tree has ended. */
export async function findTreePause(rootId: string, store: Store): Promise<TreePause | null> {
  return findPauseInRows(await store.runs({ rootId, live: true }), store);
}

/** The same for the live rows of a run and its descendants. */
export async function findPauseInRows(rows: RunRow[], store: Store): Promise<TreePause | null> {
  if (rows.length === 0 || !rows.every((row) => isFullyPaused(row, rows))) return null;
  const pauses = await Promise.all(rows.filter(({ status }) => status === 'paused').map(({ runId }) => findLastPause(runId, store)));
  const known = pauses.filter((pause) => pause !== null);
  const ends = known.flatMap(({ resumeAt }) => resumeAt ?? []);
  return { until: ends.sort()[0] ?? null, reasons: [...new Set(known.map(({ reason }) => reason))] };
}

async function findLastPause(runId: string, store: Store): Promise<FactData['run.paused'] | null> {
  const last = (await store.facts({ runId, types: ['run.paused'] })).at(-1);
  return last?.type === 'run.paused' ? last.data : null;
}
