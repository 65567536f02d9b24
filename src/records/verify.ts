// Verifies stored runs: that replaying them gives the same result, and that nothing was changed. Reads only.
import { isRetinueError } from '../contract/error.ts';
import { RunRow } from '../contract/run.ts';
import { assertNotErased, loadPinned } from '../kernel/recovery/history.ts';
import type { BlobContent, Store, StoreFault } from '../ports/store.ts';
import { sha256 } from '../text/canonical.ts';
import { listBlobHashes } from './blob-hashes.ts';
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
  /** The first fault of each run. */
  broken: ChainFault[];
  /** Faults of the database as a whole. They concern all trees, also if only one is verified. */
  faults: StoreFault[];
}

export interface CheckOptions {
  /** Rejects with its reason when it fires. */
  signal?: AbortSignal | undefined;
  /** Lets other work of this process go first. Checks are long, and a store may answer without waiting. */
  pause?: (() => Promise<void>) | undefined;
}

/** Facts of one run that are checked without a pause. */
const factsPerTurn = 500;

async function pauseCheck({ signal, pause }: CheckOptions): Promise<void> {
  await pause?.();
  signal?.throwIfAborted();
}

/** Replays a stored run and its descendants, the run first. Rejects with `erased` for an erased run. */
export async function replayTree(id: string, store: Store, options: CheckOptions = {}): Promise<ReplayResult[]> {
  const row = await findRun(id, store);
  assertNotErased(row);
  const results: ReplayResult[] = [];
  for (const { runId } of subtreeRows(await store.runs({ rootId: row.rootId, order: 'oldest' }), row.runId)) {
    await pauseCheck(options);
    const facts = await store.facts({ runId });
    const started = facts.find((fact) => fact.type === 'run.started');
    results.push(replayRun(facts, started?.data.system ? await loadPinned(runId, started.data, store) : null));
  }
  return results;
}

/** Verifies the tree of a run, or all trees, and the database itself. Damage is a result: it rejects only if the database cannot be read at all. */
export async function verifyTrees(id: string | undefined, store: Store, options: CheckOptions = {}): Promise<VerifyResult> {
  const total: VerifyResult = { trees: 0, runs: 0, facts: 0, erased: 0, broken: [], faults: await store.findFaults() };
  const findRoots = async () =>
    id === undefined ? (await store.runs({ roots: true, order: 'oldest' })).map((row) => row.runId) : [(await findRun(id, store)).rootId];
  const rootIds = await findRoots().catch((error: unknown) => {
    total.faults.push({ where: 'rows', what: toDamage(error) });
    return [];
  });
  for (const rootId of rootIds) {
    const { runs, facts, erased, broken } = await verifyTree(rootId, store, options);
    total.trees++;
    total.runs += runs;
    total.facts += facts;
    total.erased += erased;
    total.broken.push(...broken);
  }
  return total;
}

type TreeResult = Omit<VerifyResult, 'trees' | 'faults'>;

async function verifyTree(rootId: string, store: Store, options: CheckOptions): Promise<TreeResult> {
  const found = await store.runs({ rootId, order: 'oldest' }).catch((error: unknown) => toDamage(error));
  if (typeof found === 'string') return { runs: 0, facts: 0, erased: 0, broken: [{ runId: rootId, seq: 0, what: found }] };
  const rows = found.filter((row) => RunRow.safeParse(row).success);
  const chain = createChainCheck();
  const findTextFault = createTextCheck(store);
  /** The first fault of each run that the chain does not show: an unreadable fact, or a text. */
  const otherFaults = new Map<string, ChainFault>();
  for (const { runId } of found)
    if (!rows.some((row) => row.runId === runId)) otherFaults.set(runId, { runId, seq: 0, what: 'its row is not that of a run' });
  let facts = 0;
  let erased = 0;
  for (const { runId } of rows) {
    await pauseCheck(options);
    const trail = await store.trail(runId).catch((error: unknown) => toDamage(error));
    if (typeof trail === 'string') {
      otherFaults.set(runId, { runId, seq: 0, what: trail });
      continue;
    }
    let isSound = true;
    for (const fact of trail) {
      if (chain.add(fact) !== null) isSound = false;
      if (++facts % factsPerTurn === 0) await pauseCheck(options);
      if ('erased' in fact) {
        erased++;
        continue;
      }
      for (const hash of isSound ? listBlobHashes(fact) : []) {
        const what = await findTextFault(hash);
        if (what !== null && !otherFaults.has(runId)) otherFaults.set(runId, { runId, seq: fact.seq, what });
      }
    }
  }
  const chainFaults = chain.faults(rows).filter(({ runId }) => otherFaults.get(runId)?.seq !== 0);
  // One fault for each run.
  for (const { runId } of chainFaults) otherFaults.delete(runId);
  return { runs: found.length, facts, erased, broken: [...chainFaults, ...otherFaults.values()] };
}

function isDamage(content: BlobContent | null | { damage: string }): content is { damage: string } {
  return typeof content === 'object' && content !== null && 'damage' in content;
}

/** Describes the damage. Every other error is thrown again. */
function toDamage(error: unknown): string {
  if (isRetinueError(error) && error.code === 'store_corrupt') return error.message;
  throw error;
}

/** Describes the damage of a text that facts refer to; null if there is none. Each text is read once. */
function createTextCheck(store: Store): (hash: string) => Promise<string | null> {
  const known = new Map<string, string | null>();
  return async (hash) => {
    const fault = known.get(hash);
    if (fault !== undefined) return fault;
    const content = await store.blob(hash).catch((error: unknown) => ({ damage: toDamage(error) }));
    const found = isDamage(content)
      ? content.damage
      : content === null
        ? 'a text that it points to is missing'
        : sha256(content) === hash
          ? null
          : 'a text that it points to was changed';
    known.set(hash, found);
    return found;
  };
}
