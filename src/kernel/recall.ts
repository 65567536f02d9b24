// What an earlier client of the same store delegated: it stays readable. Such a run may have lost its process in the middle; under a contract
// whose children end with their client it is ended here, so that nobody waits for it.
import { isLive, type RunRow } from '../contract/run.ts';
import type { ChildView } from '../ports/delegation.ts';
import { rowOf } from './fold.ts';
import { loadState } from './history.ts';
import { endOrphan, type OrphanEnd, type OrphanGround } from './orphan.ts';

export interface RecallGround extends Omit<OrphanGround, 'owner'> {
  /** Whether runs of a client that is gone end with it. */
  endsWithClient: boolean;
}

/** Null for a run that no client delegated, and for one that was erased. */
export async function recall(runId: string, ground: RecallGround): Promise<ChildView | null> {
  const { store } = ground;
  const row = await store.run(runId);
  if (!row || row.erasedAt !== undefined || row.parentId === null || (await store.run(row.parentId))?.kind !== 'client') return null;
  const root = isLive(row.status) && ground.endsWithClient ? await store.run(row.rootId) : null;
  if (root) {
    const holder = (await store.holders([row.rootId])).get(row.rootId);
    const why = { reason: 'the client that delegated it went away', by: 'the runtime', code: 'client_gone' as const };
    // The client is gone with all that it delegated.
    if (!holder?.alive) await end(root, why, ground);
  }
  const state = await loadState(runId, store);
  return { row: rowOf(state), outcome: state.ended?.data.outcome ?? null, taint: [...state.taint] };
}

/** Cancels a run of an earlier client that no living process drives. */
export async function endEarlier(runId: string, reason: string, ground: RecallGround): Promise<void> {
  const known = await recall(runId, ground);
  if (known && !known.outcome) await end(known.row, { reason, by: 'a client', code: 'cancelled' }, ground);
}

/** Under a lease of its own, so that the rest of such a tree stays free for whoever goes on with it. */
async function end(row: RunRow, why: OrphanEnd, { store, clock }: RecallGround): Promise<void> {
  const owner = await store.open();
  try {
    await endOrphan(row, why, { store, owner, clock });
  } finally {
    await store.release(owner);
  }
}
