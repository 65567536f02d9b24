// What can be proved of stored runs: that they replay, and that nothing of them was changed. Reads only.
import type { RunRow } from '../contract/run.ts';
import { assertNotErased, loadPinned } from '../kernel/history.ts';
import type { Store } from '../ports/store.ts';
import { sha256 } from '../text/canonical.ts';
import { blobHashesOf } from './blobs.ts';
import { createDescendantFilter } from './descendants.ts';
import { findRun } from './find-run.ts';
import { type ReplayResult, replayRun } from './replay.ts';
import { type ChainFault, createTreeCheck } from './verify-chain.ts';

export interface VerifyResult {
  trees: number;
  runs: number;
  facts: number;
  /** How many of these were erased: of them only numbers and places are checked. */
  erased: number;
  broken: ChainFault[];
}

export interface Proofs {
  /** A run and everything below it, the run first. Rejects with `erased` where there is nothing left to replay. */
  replay(id: string): Promise<ReplayResult[]>;
  /** All runs, or the tree of one. */
  verify(id?: string): Promise<VerifyResult>;
}

/** What is wrong with a text that a fact points to by its hash. */
function textFault(hash: string, text: string | null): string | null {
  if (text === null) return 'a text that it points to is gone';
  return sha256(text) === hash ? null : 'a text that it points to was changed';
}

export function createProofs(store: Store): Proofs {
  async function replayOne({ runId }: RunRow): Promise<ReplayResult> {
    const facts = await store.facts({ runId });
    const started = facts.find((fact) => fact.type === 'run.started');
    return replayRun(facts, started?.data.system ? await loadPinned(runId, started.data, store) : null);
  }

  async function verifyOne(rootId: string): Promise<VerifyResult> {
    const rows = await store.runs({ rootId, order: 'oldest' });
    const check = createTreeCheck();
    const texts: ChainFault[] = [];
    const seen = new Map<string, string | null>();
    let [facts, erased] = [0, 0];
    for (const { runId } of rows) {
      for (const fact of await store.trail(runId)) {
        check.add(fact);
        facts++;
        if ('erased' in fact) erased++;
        for (const hash of 'erased' in fact ? [] : blobHashesOf(fact)) {
          const what = seen.has(hash) ? (seen.get(hash) ?? null) : textFault(hash, await store.blob(hash));
          seen.set(hash, what);
          if (what !== null) texts.push({ runId, seq: fact.seq, what });
        }
      }
    }
    const chain = check.faults(rows);
    const others = texts.filter(
      ({ runId }, i) => texts.findIndex((each) => each.runId === runId) === i && chain.every((each) => each.runId !== runId),
    );
    return { trees: 1, runs: rows.length, facts, erased, broken: [...chain, ...others] };
  }

  return {
    async replay(id) {
      const row = await findRun(id, store);
      assertNotErased(row);
      const created = await store.facts({ rootId: row.rootId, types: ['run.created'] });
      const below = new Set(created.filter(createDescendantFilter(row.runId)).map((fact) => fact.runId));
      const rows = (await store.runs({ rootId: row.rootId, order: 'oldest' })).filter(({ runId }) => below.has(runId));
      const replayed: ReplayResult[] = [];
      for (const each of rows) replayed.push(await replayOne(each));
      return replayed;
    },
    async verify(id) {
      const roots =
        id === undefined
          ? (await store.runs({ roots: true, order: 'oldest' })).map((row) => row.runId)
          : [(await findRun(id, store)).rootId];
      const all: VerifyResult = { trees: 0, runs: 0, facts: 0, erased: 0, broken: [] };
      for (const rootId of roots) {
        const one = await verifyOne(rootId);
        all.trees++;
        all.runs += one.runs;
        all.facts += one.facts;
        all.erased += one.erased;
        all.broken.push(...one.broken);
      }
      return all;
    },
  };
}
