// What an earlier client of the same store delegated: it stays readable. Such a run may have lost its process in the middle; under a contract
// whose children end with their client it is ended here, so that nobody waits for it.
import { isLive } from '../contract/run.ts';
import type { ChildView } from '../ports/delegation.ts';
import type { Store } from '../ports/store.ts';
import { rowOf } from './fold.ts';
import { loadState } from './history.ts';
import { endOrphan, type OrphanGround } from './orphan.ts';

export interface RecallGround extends OrphanGround {
  store: Store;
  /** Whether runs of a client that is gone end with it. */
  endsWithClient: boolean;
}

/** Null for a run that no client delegated, and for one that was erased. */
export async function recall(runId: string, ground: RecallGround): Promise<ChildView | null> {
  const { store } = ground;
  const row = await store.run(runId);
  if (!row || row.erasedAt !== undefined || row.parentId === null || (await store.run(row.parentId))?.kind !== 'client') return null;
  if (isLive(row.status) && ground.endsWithClient) {
    const holder = (await store.holders([row.rootId])).get(row.rootId);
    const why = { reason: 'the client that delegated it went away', by: 'the runtime', code: 'client_gone' as const };
    if (!holder?.alive) await endOrphan(row, why, ground);
  }
  const state = await loadState(runId, store);
  return { row: rowOf(state), outcome: state.ended?.data.outcome ?? null };
}
