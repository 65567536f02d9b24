// Whether a tree waits for something else than a process.
import type { FactData } from '../contract/fact.ts';
import type { Instant } from '../contract/ids.ts';
import type { RunRow } from '../contract/run.ts';
import type { Store } from '../ports/store.ts';
import { isAtRest } from './tree-status.ts';

/** When the tree goes on by itself; null if somebody has to continue it. */
export interface Rest {
  until: Instant | null;
  /** Why its runs are paused. */
  reasons: string[];
}

/** Null while anything of the tree runs, and if it has ended. */
export async function findRest(rootId: string, store: Store): Promise<Rest | null> {
  return describeRest(await store.runs({ rootId, live: true }), store);
}

/** The same for the live rows of a run and its descendants. */
export async function describeRest(rows: RunRow[], store: Store): Promise<Rest | null> {
  if (rows.length === 0 || !rows.every((row) => isAtRest(row, rows))) return null;
  const pauses = await Promise.all(rows.filter(({ status }) => status === 'paused').map(({ runId }) => findPause(runId, store)));
  const known = pauses.filter((pause) => pause !== null);
  const ends = known.flatMap(({ resumeAt }) => resumeAt ?? []);
  return { until: ends.sort()[0] ?? null, reasons: [...new Set(known.map(({ reason }) => reason))] };
}

async function findPause(runId: string, store: Store): Promise<FactData['run.paused'] | null> {
  const last = (await store.facts({ runId, types: ['run.paused'] })).at(-1);
  return last?.type === 'run.paused' ? last.data : null;
}
