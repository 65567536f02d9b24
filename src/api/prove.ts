// What can be proved of stored runs: that they replay, and that nothing of them was changed. Reads only.
import type { RunRow } from '../contract/run.ts';
import { assertKept, pinnedOf } from '../kernel/history.ts';
import { type Replayed, replayRun } from '../kernel/replay.ts';
import { type Broken, createTreeCheck } from '../kernel/verify.ts';
import type { Store } from '../ports/store.ts';
import { findRun } from './find.ts';
import { descent } from './follow.ts';

export interface Verified {
  trees: number;
  runs: number;
  facts: number;
  /** How many of these were erased: of them only numbers and places are checked. */
  erased: number;
  broken: Broken[];
}

export interface Proofs {
  /** A run and everything below it, the run first. Rejects with `erased` where there is nothing left to replay. */
  replay(id: string): Promise<Replayed[]>;
  /** All runs, or the tree of one. */
  verify(id?: string): Promise<Verified>;
}

export function createProofs(store: Store): Proofs {
  async function replayOne({ runId }: RunRow): Promise<Replayed> {
    const facts = await store.facts({ runId });
    const started = facts.find((fact) => fact.type === 'run.started');
    return replayRun(facts, started?.data.system ? await pinnedOf(runId, started.data, store) : null);
  }

  async function verifyOne(rootId: string): Promise<Verified> {
    const rows = await store.runs({ rootId, order: 'oldest' });
    const check = createTreeCheck();
    let [facts, erased] = [0, 0];
    for (const { runId } of rows) {
      for (const fact of await store.trail(runId)) {
        check.add(fact);
        facts++;
        if ('erased' in fact) erased++;
      }
    }
    return { trees: 1, runs: rows.length, facts, erased, broken: check.faults(rows) };
  }

  return {
    async replay(id) {
      const row = await findRun(id, store);
      assertKept(row);
      const created = await store.facts({ rootId: row.rootId, types: ['run.created'] });
      const below = new Set(created.filter(descent(row.runId)).map((fact) => fact.runId));
      const rows = (await store.runs({ rootId: row.rootId, order: 'oldest' })).filter(({ runId }) => below.has(runId));
      const replayed: Replayed[] = [];
      for (const each of rows) replayed.push(await replayOne(each));
      return replayed;
    },
    async verify(id) {
      const roots =
        id === undefined
          ? (await store.runs({ roots: true, order: 'oldest' })).map((row) => row.runId)
          : [(await findRun(id, store)).rootId];
      const all: Verified = { trees: 0, runs: 0, facts: 0, erased: 0, broken: [] };
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
