// The homes of external agents, as far as the store knows their runs. A home goes when the end of its run is durable; one that a killed process left
// goes when the next external agent starts here.
import type { RunFolders } from '../../ports/run-folders.ts';
import type { Store } from '../../ports/store.ts';

/** `live`: its run has not ended and may continue in it. `unknown`: its run is in another database. `draft`: no process uses it any more. */
export type HomeState = 'live' | 'ended' | 'unknown' | 'draft';

export async function findHomeState(runId: string | null, store: Store): Promise<HomeState> {
  if (runId === null) return 'draft';
  const row = await store.run(runId);
  if (!row) return 'unknown';
  return row.endedAt === null ? 'live' : 'ended';
}

/** Deletes homes that no run needs any more. Rejects only if the store fails. */
export async function removeEndedHomes(homes: RunFolders, store: Store): Promise<void> {
  for (const { path, runId } of await homes.leftovers()) {
    const state = await findHomeState(runId, store);
    if (state === 'ended' || state === 'draft') await homes.discardFolder(path);
  }
}
