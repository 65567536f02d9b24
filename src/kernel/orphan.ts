// Ending runs that nobody drives any more: their process is dead. The asking process takes the tree over and writes the last facts itself.
import type { OutcomeStatus } from '../contract/outcome.ts';
import type { RunRow } from '../contract/run.ts';
import type { Clock } from '../ports/clock.ts';
import type { Owner, Store } from '../ports/store.ts';
import { outcomeOf } from './fold.ts';
import { loadState } from './history.ts';
import { createJournal, type Journal, msOf, type Part } from './journal.ts';
import { childEnded } from './run.ts';

export interface OrphanGround {
  store: Store;
  owner: Owner;
  clock: Clock;
}

/** Ends a run and everything below it. False when a living process holds the tree: an order is the way then. */
export async function endOrphan(row: RunRow, reason: string, ground: OrphanGround): Promise<boolean> {
  const { store, owner, clock } = ground;
  const claim = await store.claim(owner, row.rootId);
  if (!claim.ok) return false;
  const journal = createJournal({ store, owner, clock, lost: () => {} });
  const rows = await store.runs({ rootId: row.rootId, live: true });
  const below = subtree(rows, row.runId);
  const involved = new Set([...below.map((each) => each.runId), ...below.flatMap((each) => each.parentId ?? [])]);
  for (const runId of involved) journal.adopt(await loadState(runId, store));
  const asked = { type: 'cancel.asked' as const, data: { by: 'the user', code: 'cancelled' as const, reason } };
  await journal.record(row.rootId, [{ runId: row.runId, drafts: [asked] }]);
  for (const each of below) await journal.record(row.rootId, ended(each, { status: 'cancelled', reason }, journal));
  return true;
}

/** The run and its live descendants, the deepest first. */
function subtree(rows: RunRow[], runId: string): RunRow[] {
  const own = rows.filter((each) => each.runId === runId);
  const children = rows.filter((each) => each.parentId === runId);
  return [...children.flatMap((child) => subtree(rows, child.runId)), ...own];
}

function ended(row: RunRow, why: { status: OutcomeStatus; reason: string }, journal: Journal): Part[] {
  const own: Part = {
    runId: row.runId,
    drafts: (at) => {
      const state = journal.state(row.runId);
      const startedMs = state.started ? msOf(state.started.at) : null;
      const outcome = outcomeOf(state, { status: why.status, code: 'cancelled', message: why.reason }, { ...at, startedMs });
      return [{ type: 'run.ended', data: { outcome } }];
    },
  };
  return row.parentId === null ? [own] : [own, childEnded(row.parentId, row.runId, journal)];
}
