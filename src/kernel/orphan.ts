// Ending runs that nobody drives any more: their process is dead. The asking process takes the tree over and writes the last facts itself.
import type { RunRow } from '../contract/run.ts';
import type { Clock } from '../ports/clock.ts';
import type { Owner, Store } from '../ports/store.ts';
import { outcomeOf } from './fold.ts';
import { loadState } from './history.ts';
import { createJournal, type Journal, msOf, type Part } from './journal.ts';
import { cutOff } from './revive.ts';
import { childEnded } from './run.ts';

/** Why a run is ended that nobody drives. */
export interface OrphanEnd {
  reason: string;
  by: string;
  code: 'cancelled' | 'client_gone';
}

export interface OrphanGround {
  store: Store;
  owner: Owner;
  clock: Clock;
}

/** Ends a run and everything below it. False when a living process holds the tree: an order is the way then. */
export async function endOrphan(row: RunRow, why: OrphanEnd, ground: OrphanGround): Promise<boolean> {
  const { store, owner, clock } = ground;
  const claim = await store.claim(owner, row.rootId);
  if (!claim.ok) return false;
  const journal = createJournal({ store, owner, clock, lost: () => {} });
  const rows = await store.runs({ rootId: row.rootId, live: true });
  const below = subtree(rows, row.runId);
  const involved = new Set([...below.map((each) => each.runId), ...below.flatMap((each) => each.parentId ?? [])]);
  for (const runId of involved) journal.adopt(await loadState(runId, store));
  const asked = { type: 'cancel.asked' as const, data: { by: why.by, code: why.code, reason: why.reason } };
  await journal.record(row.rootId, [{ runId: row.runId, drafts: [asked] }]);
  for (const each of below) await journal.record(row.rootId, ended(each, why, journal));
  return true;
}

/** The run and its live descendants, the deepest first. */
function subtree(rows: RunRow[], runId: string): RunRow[] {
  const own = rows.filter((each) => each.runId === runId);
  const children = rows.filter((each) => each.parentId === runId);
  return [...children.flatMap((child) => subtree(rows, child.runId)), ...own];
}

function ended(row: RunRow, why: OrphanEnd, journal: Journal): Part[] {
  const own: Part = {
    runId: row.runId,
    drafts: (at) => {
      const state = journal.state(row.runId);
      const startedMs = state.started ? msOf(state.started.at) : null;
      const outcome = outcomeOf(state, { status: 'cancelled', code: why.code, message: why.reason }, { ...at, startedMs });
      return [{ type: 'run.ended', data: { outcome } }];
    },
  };
  const cut: Part = { runId: row.runId, drafts: cutOff(journal.state(row.runId)) };
  return row.parentId === null ? [cut, own] : [cut, own, childEnded(row.parentId, row.runId, journal)];
}
