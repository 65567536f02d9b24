// Erases the content of ended trees. Hashes stay, so that the rest of the store can still be verified.
import { RetinueError } from '../contract/error.ts';
import type { ErasedFact, StoredFact } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import { isLive } from '../contract/run-status.ts';
import type { Store } from '../ports/store.ts';
import { subtreeRows } from './descendants.ts';
import { findRun } from './find-run.ts';

/** Removes the data of an ended tree that is outside the store. May be called again. */
export type Forget = (rootId: string, runIds: string[]) => Promise<void>;

export interface ErasedTree {
  rootId: string;
  result: 'erased' | 'already';
  facts: number;
  bytes: number;
}

export interface EraseReport {
  trees: ErasedTree[];
  /** Bytes that the file system got back; null if the store is not on disk. Negative if the files grew. */
  freedBytes: number | null;
}

/** How much erasing would remove. */
export interface EraseSize {
  rootIds: string[];
  facts: number;
  bytes: number;
}

export interface EraseDeps {
  store: Store;
  now(): string;
  forget?: Forget | undefined;
}

/** Rejects like `eraseTrees`. */
export async function weighTrees(ids: string[], store: Store): Promise<EraseSize> {
  const rootIds = (await findEndedRoots(ids, store)).map(({ rootId }) => rootId);
  return { rootIds, ...(await store.weigh(rootIds)) };
}

/**
 * Erases whole trees. Rejects with `live_tree` if one has not ended, and with `usage` for a run that is not a root; then nothing is erased.
 */
export async function eraseTrees(ids: string[], deps: EraseDeps): Promise<EraseReport> {
  const { store } = deps;
  const roots = await findEndedRoots(ids, store);
  const before = await store.size();
  const trees: ErasedTree[] = [];
  for (const root of roots) trees.push(await eraseTree(root, deps));
  if (trees.length > 0) await store.reclaim(trees.reduce((sum, { bytes }) => sum + bytes, 0));
  const after = await store.size();
  return { trees, freedBytes: before === null || after === null ? null : before - after };
}

async function eraseTree({ rootId, erasedAt }: RunRow, { store, now, forget }: EraseDeps): Promise<ErasedTree> {
  if (forget) {
    // Before the store: if this is interrupted, the tree is still listed and can be erased again.
    const rows = await store.runs({ rootId });
    await forget(
      rootId,
      rows.map(({ runId }) => runId),
    );
  }
  const erasure = await store.erase(rootId, now());
  if (!erasure.ok)
    throw erasure.reason === 'live' ? liveTreeError(rootId, rootId) : new RetinueError('unknown_run', `there is no run ${rootId}`);
  return { rootId, result: erasedAt === undefined ? 'erased' : 'already', facts: erasure.facts, bytes: erasure.bytes };
}

/** The rows of these roots, each once. Rejects for runs that are not roots and for trees that have not ended. */
async function findEndedRoots(ids: string[], store: Store): Promise<RunRow[]> {
  const rows = await Promise.all(ids.map((id) => findEndedRoot(id, store)));
  return [...new Map(rows.map((row) => [row.runId, row])).values()];
}

async function findEndedRoot(id: string, store: Store): Promise<RunRow> {
  const row = await findRun(id, store);
  if (row.parentId !== null)
    throw new RetinueError(
      'usage',
      `run ${row.runId} is part of the tree of run ${row.rootId}, and trees can only be erased as a whole: name run ${row.rootId}`,
    );
  const [live] = await store.runs({ rootId: row.rootId, live: true, limit: 1 });
  if (live) throw liveTreeError(row.rootId, live.runId);
  return row;
}

/** Roots of trees that ended before this moment and were not erased yet, oldest first. */
export async function findTreesEndedBefore(at: string, store: Store): Promise<string[]> {
  const live = new Set((await store.runs({ live: true })).map(({ rootId }) => rootId));
  const roots = await store.runs({ roots: true, order: 'oldest' });
  const hasEnded = (row: RunRow) => !isLive(row.status) && row.endedAt !== null && row.endedAt < at && !live.has(row.runId);
  return roots.filter((row) => hasEnded(row) && row.erasedAt === undefined).map(({ runId }) => runId);
}

/** What remains of the facts of an erased run and, with `tree`, of its descendants; run by run. */
export async function loadRemainingFacts(row: RunRow, tree: boolean, store: Store): Promise<(StoredFact | ErasedFact)[]> {
  const rows = tree ? subtreeRows(await store.runs({ rootId: row.rootId, order: 'oldest' }), row.runId) : [row];
  return (await Promise.all(rows.map(({ runId }) => store.trail(runId)))).flat();
}

function liveTreeError(rootId: string, runId: string): RetinueError {
  const what = rootId === runId ? `run ${rootId} has not ended` : `run ${runId} below run ${rootId} has not ended`;
  return new RetinueError('live_tree', `${what}: \`retinue cancel ${rootId}\` first`);
}
