// Erasing what ended trees said. Their hashes stay, so that what remains still verifies.
import { RetinueError } from '../contract/error.ts';
import type { ErasedFact, StoredFact } from '../contract/fact.ts';
import { isLive, type RunRow } from '../contract/run.ts';
import type { Store } from '../ports/store.ts';
import { findRun } from './find-run.ts';

/** Takes away what is kept of an ended tree outside the store. It may be called again, and must not mind that nothing is left. */
export type Forget = (rootId: string, runIds: string[]) => Promise<void>;

export interface ErasedTree {
  rootId: string;
  result: 'erased' | 'already';
  facts: number;
  bytes: number;
}

/** What erasing takes away, or would. */
export interface EraseSize {
  rootIds: string[];
  facts: number;
  bytes: number;
}

export interface Erasing {
  /**
   * What erasing the trees of these roots would take away. Rejects with `live_tree` where one has not ended, and with `usage` for a run
   * that is no root: a tree is erased as a whole.
   */
  weigh(ids: string[]): Promise<EraseSize>;
  /** Rejects like `weigh`, and then nothing is erased. */
  erase(ids: string[]): Promise<ErasedTree[]>;
  /** Trees that ended before the moment and were not erased yet, oldest first. */
  endedBefore(at: string): Promise<string[]>;
}

export function createErasing(store: Store, { now, forget }: { now(): string; forget?: Forget }): Erasing {
  async function rootOf(id: string): Promise<RunRow> {
    const row = await findRun(id, store);
    if (row.parentId !== null)
      throw new RetinueError(
        'usage',
        `run ${row.runId} is part of the tree of run ${row.rootId}, which is erased as a whole: name that one`,
      );
    const [live] = await store.runs({ rootId: row.rootId, live: true, limit: 1 });
    if (live) throw stillLive(row.rootId, live.runId);
    return row;
  }

  async function eraseOne({ rootId, erasedAt }: RunRow): Promise<ErasedTree> {
    // First what the store does not know of: whoever is cut off here finds the tree again.
    await forget?.(
      rootId,
      (await store.runs({ rootId })).map(({ runId }) => runId),
    );
    const erasure = await store.erase(rootId, now());
    if (!erasure.ok)
      throw erasure.reason === 'live' ? stillLive(rootId, rootId) : new RetinueError('unknown_run', `there is no run ${rootId}`);
    return { rootId, result: erasedAt === undefined ? 'erased' : 'already', facts: erasure.facts, bytes: erasure.bytes };
  }

  async function roots(ids: string[]): Promise<RunRow[]> {
    const found = await Promise.all(ids.map(rootOf));
    return [...new Map(found.map((row) => [row.runId, row])).values()];
  }

  return {
    async weigh(ids) {
      const rootIds = (await roots(ids)).map(({ rootId }) => rootId);
      return { rootIds, ...(await store.weigh(rootIds)) };
    },
    async erase(ids) {
      const erased: ErasedTree[] = [];
      for (const row of await roots(ids)) erased.push(await eraseOne(row));
      if (erased.length > 0) await store.reclaim();
      return erased;
    },
    async endedBefore(at) {
      const live = new Set((await store.runs({ live: true })).map(({ rootId }) => rootId));
      const rows = await store.runs({ roots: true, order: 'oldest' });
      const old = (row: RunRow) => !isLive(row.status) && row.endedAt !== null && row.endedAt < at && row.erasedAt === undefined;
      return rows.filter((row) => old(row) && !live.has(row.runId)).map(({ runId }) => runId);
    },
  };
}

/** The facts of an erased run, and of those below it, as far as they are left, run by run. */
export async function remainingFacts(row: RunRow, tree: boolean, store: Store): Promise<(StoredFact | ErasedFact)[]> {
  const below = new Set([row.runId]);
  if (tree) {
    const rows = await store.runs({ rootId: row.rootId, order: 'oldest' });
    for (const { runId, parentId } of rows) if (parentId !== null && below.has(parentId)) below.add(runId);
  }
  const trails = await Promise.all([...below].map((runId) => store.trail(runId)));
  return trails.flat();
}

function stillLive(rootId: string, runId: string): RetinueError {
  const what = rootId === runId ? `run ${rootId} has not ended` : `run ${runId} below run ${rootId} has not ended`;
  return new RetinueError('live_tree', `${what}: \`retinue cancel ${rootId}\` first`);
}
