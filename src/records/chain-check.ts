// Checks the hash chain of facts: no fact was changed, none is missing, and children are those that their parents name. Pure, and fed fact by fact,
// so that a tree need not be in memory. The data of erased facts is gone, so their hashes cannot be recomputed and are taken as they are.
import { type ErasedFact, type Fact, factData } from '../contract/fact.ts';
import { newestFactVersion } from '../contract/fact-version.ts';
import type { RunRow } from '../contract/run.ts';
import { genesisHash } from '../kernel/journal.ts';
import { applyFact } from '../kernel/state/fold.ts';
import { stateToRow } from '../kernel/state/outcome.ts';
import { createRunState, type RunState } from '../kernel/state/state.ts';
import { canonical, factHash } from '../text/canonical.ts';

/** The first fault of a run. */
export interface ChainFault {
  runId: string;
  seq: number;
  what: string;
}

export interface ChainCheck {
  /** Facts of a run come in order; those of several runs may be mixed. Returns the fault if this fact is the first broken one of its run. */
  add(fact: Fact | ErasedFact): ChainFault | null;
  /** The faults of all runs, at most one for each. With `rows`, the facts are also compared with the rows of the store. */
  faults(rows?: RunRow[]): ChainFault[];
}

/** What the facts of one run have shown so far. */
interface CheckedRun {
  seq: number;
  firstHash: string;
  lastHash: string;
  /** Sequence number of the last erased fact; 0 if none was erased. */
  erasedSeq: number;
  fault: ChainFault | null;
  /** Hashes of children, as the run's facts record them. */
  links: { seq: number; type: 'child.created' | 'child.ended'; childId: string; hash: string }[];
  /** Null once a fact was erased, or has a newer version. */
  state: RunState | null;
}

export function createChainCheck(): ChainCheck {
  const runs = new Map<string, CheckedRun>();

  function add(fact: Fact | ErasedFact): ChainFault | null {
    const { runId } = fact;
    const run = runs.get(runId) ?? { seq: 0, firstHash: '', lastHash: genesisHash, erasedSeq: 0, fault: null, links: [], state: null };
    runs.set(runId, run);
    const wasSound = run.fault === null;
    run.fault ??= findFault(fact, run);
    // Even of a broken run, because the links of its parent are compared with the stored hashes.
    run.lastHash = fact.hash;
    if (fact.seq === 1) run.firstHash = fact.hash;
    run.fault ??= foldFact(run, fact);
    if (run.fault) return wasSound ? run.fault : null;
    run.seq++;
    if ('erased' in fact) run.erasedSeq = fact.seq;
    else if (fact.type === 'child.created' || fact.type === 'child.ended') {
      run.links.push({ seq: fact.seq, type: fact.type, childId: fact.data.childId, hash: fact.data.hash });
    }
    return null;
  }

  /** child.created and child.ended carry the child's first and last hash, so a root's last hash covers its tree. */
  function findBrokenLink(runId: string, { links }: CheckedRun): ChainFault | null {
    for (const { seq, type, childId, hash } of links) {
      const child = runs.get(childId);
      if ((type === 'child.created' ? child?.firstHash : child?.lastHash) === hash) continue;
      return { runId, seq, what: child ? `run ${childId} is not the one that it names (${type})` : `run ${childId} is missing` };
    }
    return null;
  }

  return {
    add,
    faults(rows) {
      const faults = rows
        ? rows.map((row) => compareWithRow(row, runs.get(row.runId)) ?? findBrokenLink(row.runId, runs.get(row.runId) as CheckedRun))
        : [...runs].map(([runId, run]) => run.fault ?? findBrokenLink(runId, run));
      return faults.filter((fault) => fault !== null);
    },
  };
}

/** A fact with a valid hash may still have data that no Retinue wrote. */
function foldFact(run: CheckedRun, fact: Fact | ErasedFact): ChainFault | null {
  try {
    // The data of an erased fact is gone, and that of a newer version is not understood: what the run is cannot be computed any more.
    if ('erased' in fact || fact.v > newestFactVersion(fact.type)) run.state = null;
    else {
      factData()[fact.type].parse(fact.data);
      if (run.state) applyFact(run.state, fact);
      else if (fact.type === 'run.created') run.state = createRunState(fact);
    }
    return null;
  } catch {
    return { runId: fact.runId, seq: fact.seq, what: `its content is not that of a fact (${fact.type})` };
  }
}

function findFault(fact: Fact | ErasedFact, { seq, lastHash }: CheckedRun): ChainFault | null {
  const { runId } = fact;
  if (fact.seq !== seq + 1) return { runId, seq: seq + 1, what: `fact ${seq + 1} is missing` };
  if ('erased' in fact || factHash(fact, canonical(fact.data), lastHash) === fact.hash) return null;
  return { runId, seq: fact.seq, what: `its content or the hash before it was changed (${fact.type})` };
}

/** A row is computed from facts, so it shows whether facts were removed or added. */
function compareWithRow(row: RunRow, run: CheckedRun | undefined): ChainFault | null {
  const { runId } = row;
  if (!run) return { runId, seq: 1, what: 'it has no facts' };
  if (run.fault) return run.fault;
  if (row.lastSeq !== run.seq) return { runId, seq: run.seq + 1, what: `its row says ${row.lastSeq} facts, but there are ${run.seq}` };
  if (row.lastHash !== run.lastHash) return { runId, seq: run.seq, what: 'its row has another hash' };
  if (run.erasedSeq > 0 && row.erasedAt === undefined)
    return { runId, seq: run.erasedSeq, what: 'its data is missing, although the run was never erased' };
  if (run.state && !isRowOf(run.state, row)) return { runId, seq: run.seq, what: 'its row does not match its facts' };
  return null;
}

/** Rows of earlier versions do not say which other models a run used. */
function isRowOf(state: RunState, row: RunRow): boolean {
  const { otherModels, ...earlier } = stateToRow(state);
  return canonical(otherModels && row.otherModels ? { ...earlier, otherModels } : earlier) === canonical(row);
}
