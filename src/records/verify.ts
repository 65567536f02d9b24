// Verifies stored runs: that replaying them gives the same result, and that nothing was changed. Reads only.
import { assertNotErased, loadPinned } from '../kernel/history.ts';
import type { Store } from '../ports/store.ts';
import { sha256 } from '../text/canonical.ts';
import { blobHashesOf } from './blob-hashes.ts';
import { type ChainFault, createChainCheck } from './chain-check.ts';
import { subtreeRows } from './descendants.ts';
import { findRun } from './find-run.ts';
import { type ReplayResult, replayRun } from './replay.ts';

export interface VerifyResult {
  trees: number;
  runs: number;
  facts: number;
  /** How many of the facts were erased. Only their numbers and hashes can be checked. */
  erased: number;
  broken: ChainFault[];
}

/** Replays a stored run and its descendants, the run first. Rejects with `erased` for an erased run. */
export async function replayTree(id: string, store: Store): Promise<ReplayResult[]> {
  const row = await findRun(id, store);
  assertNotErased(row);
  const results: ReplayResult[] = [];
  for (const { runId } of subtreeRows(await store.runs({ rootId: row.rootId, order: 'oldest' }), row.runId)) {
    const facts = await store.facts({ runId });
    const started = facts.find((fact) => fact.type === 'run.started');
    results.push(replayRun(facts, started?.data.system ? await loadPinned(runId, started.data, store) : null));
  }
  return results;
}

/** Verifies the tree of a run, or all trees. */
export async function verifyTrees(id: string | undefined, store: Store): Promise<VerifyResult> {
  const rootIds =
    id === undefined ? (await store.runs({ roots: true, order: 'oldest' })).map((row) => row.runId) : [(await findRun(id, store)).rootId];
  const total: VerifyResult = { trees: 0, runs: 0, facts: 0, erased: 0, broken: [] };
  for (const rootId of rootIds) {
    const { runs, facts, erased, broken } = await verifyTree(rootId, store);
    total.trees++;
    total.runs += runs;
    total.facts += facts;
    total.erased += erased;
    total.broken.push(...broken);
  }
  return total;
}

async function verifyTree(rootId: string, store: Store): Promise<Omit<VerifyResult, 'trees'>> {
  const rows = await store.runs({ rootId, order: 'oldest' });
  const chain = createChainCheck();
  const findTextFault = createTextCheck(store);
  /** The first fault of each run's texts. */
  const textFaults = new Map<string, ChainFault>();
  let facts = 0;
  let erased = 0;
  for (const { runId } of rows) {
    for (const fact of await store.trail(runId)) {
      chain.add(fact);
      facts++;
      if ('erased' in fact) {
        erased++;
        continue;
      }
      for (const hash of blobHashesOf(fact)) {
        const what = await findTextFault(hash);
        if (what !== null && !textFaults.has(runId)) textFaults.set(runId, { runId, seq: fact.seq, what });
      }
    }
  }
  const chainFaults = chain.faults(rows);
  // One fault for each run.
  for (const { runId } of chainFaults) textFaults.delete(runId);
  return { runs: rows.length, facts, erased, broken: [...chainFaults, ...textFaults.values()] };
}

/** Finds out what is wrong with a text that facts refer to; null if nothing is. Each text is read once. */
function createTextCheck(store: Store): (hash: string) => Promise<string | null> {
  const known = new Map<string, string | null>();
  return async (hash) => {
    const fault = known.get(hash);
    if (fault !== undefined) return fault;
    const text = await store.blob(hash);
    const found =
      text === null ? 'a text that it points to is missing' : sha256(text) === hash ? null : 'a text that it points to was changed';
    known.set(hash, found);
    return found;
  };
}
