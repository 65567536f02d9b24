// The hash chain over stored facts: every fact is what was written, none is missing, and children are the ones that their parents name. Pure.
import type { Fact } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import { canonical, factHash, sha256 } from '../parts/canonical.ts';
import { rowOf } from './fold.ts';
import { genesis } from './journal.ts';
import { foldFacts } from './state.ts';

/** The first thing in a run that does not hold. */
export interface Broken {
  runId: string;
  seq: number;
  what: string;
}

export interface Chain {
  row: RunRow;
  facts: Fact[];
  /** Texts that its facts point to, as they are stored; null for one that is gone. Not looked at where it is absent. */
  blobs?: Map<string, string | null>;
}

/** The hashes of the texts that a run's facts point to. */
export function blobsOf(facts: Fact[]): { hash: string; seq: number }[] {
  return facts.flatMap((fact) => named(fact).flatMap((hash) => (hash === null ? [] : [{ hash, seq: fact.seq }])));
}

function named(fact: Fact): (string | null)[] {
  if (fact.type === 'run.created') return [fact.data.definition ?? null];
  if (fact.type === 'run.started') return [fact.data.system, fact.data.tools, fact.data.history];
  return fact.type === 'artifact.recorded' ? [fact.data.blob] : [];
}

/** The faults of the runs of one tree, at most one for each. */
export function verifyTree(chains: Chain[]): Broken[] {
  const byId = new Map(chains.map((chain) => [chain.row.runId, chain]));
  return chains.flatMap((chain) => verifyRun(chain) ?? verifyRow(chain) ?? verifyBlobs(chain) ?? verifyLinks(chain, byId) ?? []);
}

function verifyRun({ row, facts }: Chain): Broken | null {
  const { runId } = row;
  let prev = genesis;
  for (const [i, fact] of facts.entries()) {
    if (fact.seq !== i + 1) return { runId, seq: i + 1, what: `fact ${i + 1} is missing` };
    if (fact.runId !== runId) return { runId, seq: fact.seq, what: 'it belongs to another run' };
    const hash = factHash(fact, canonical(fact.data), prev);
    if (hash !== fact.hash) return { runId, seq: fact.seq, what: `its content or the hash before it was changed (${fact.type})` };
    prev = hash;
  }
  if (facts.length === 0) return { runId, seq: 1, what: 'it has no facts' };
  if (row.lastSeq !== facts.length)
    return { runId, seq: facts.length + 1, what: `its row says ${row.lastSeq} facts, and there are ${facts.length}` };
  return row.lastHash === prev ? null : { runId, seq: facts.length, what: 'its row has another hash' };
}

/** Rows are folds of facts and nothing else. */
function verifyRow({ row, facts }: Chain): Broken | null {
  const same = canonical(rowOf(foldFacts(facts))) === canonical(row);
  return same ? null : { runId: row.runId, seq: facts.length, what: 'its row says something else than its facts' };
}

function verifyBlobs({ row, facts, blobs }: Chain): Broken | null {
  if (!blobs) return null;
  for (const { hash, seq } of blobsOf(facts)) {
    const text = blobs.get(hash) ?? null;
    if (text === null) return { runId: row.runId, seq, what: 'a text that it points to is gone' };
    if (sha256(text) !== hash) return { runId: row.runId, seq, what: 'a text that it points to was changed' };
  }
  return null;
}

/** A root's last hash covers its tree: child.created and child.ended carry the child's first and last hash. */
function verifyLinks({ row, facts }: Chain, byId: Map<string, Chain>): Broken | null {
  for (const fact of facts) {
    if (fact.type !== 'child.created' && fact.type !== 'child.ended') continue;
    const child = byId.get(fact.data.childId);
    const hash = (fact.type === 'child.created' ? child?.facts[0] : child?.facts.at(-1))?.hash;
    if (hash === fact.data.hash) continue;
    const what = child ? `run ${fact.data.childId} is not the one that it names (${fact.type})` : `run ${fact.data.childId} is gone`;
    return { runId: row.runId, seq: fact.seq, what };
  }
  return null;
}
