// The hash chain over stored facts: every fact is what was written, none is missing, and children are the ones that their parents name. Pure.
import type { Fact } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import { canonical, factHash } from '../parts/canonical.ts';
import { genesis } from './journal.ts';

/** The first thing in a run that does not hold. */
export interface Broken {
  runId: string;
  seq: number;
  what: string;
}

export interface Chain {
  row: RunRow;
  facts: Fact[];
}

/** The faults of the runs of one tree, at most one for each. */
export function verifyTree(chains: Chain[]): Broken[] {
  const byId = new Map(chains.map((chain) => [chain.row.runId, chain]));
  return chains.flatMap((chain) => verifyRun(chain) ?? verifyLinks(chain, byId) ?? []);
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
