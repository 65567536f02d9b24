// The hash chain over facts: every fact is what was written, none is missing, and children are the ones that their parents name. Pure, and
// fed fact by fact, so that a tree need not be in memory. Of a fact whose data was erased the hash is taken as given.
import type { ErasedFact, Fact } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import { genesis } from '../kernel/journal.ts';
import { stateToRow } from '../kernel/outcome.ts';
import { initialState, type RunState, reduce } from '../kernel/state.ts';
import { canonical, factHash } from '../text/canonical.ts';

/** The first thing in a run that does not hold. */
export interface ChainFault {
  runId: string;
  seq: number;
  what: string;
}

export interface TreeCheck {
  /** Facts of a run come in order; those of several runs may be mixed. Gives what this fact breaks. */
  add(fact: Fact | ErasedFact): ChainFault | null;
  /** The faults of all runs, at most one for each. `rows`: what the store says of them. */
  faults(rows?: RunRow[]): ChainFault[];
}

interface Run {
  seq: number;
  first: string;
  last: string;
  /** A fact of it was erased: then all must be, by the word of its row. */
  erased: number;
  broken: ChainFault | null;
  links: { seq: number; type: 'child.created' | 'child.ended'; childId: string; hash: string }[];
  /** What its facts add up to; null once one was erased. */
  state: RunState | null;
}

export function createTreeCheck(): TreeCheck {
  const runs = new Map<string, Run>();

  function add(fact: Fact | ErasedFact): ChainFault | null {
    const { runId } = fact;
    const run = runs.get(runId) ?? { seq: 0, first: '', last: genesis, erased: 0, broken: null, links: [], state: null };
    runs.set(runId, run);
    const sound = run.broken === null;
    run.broken ??= faultOf(fact, run);
    // The hashes are those of the store, whatever is broken: a parent's links are held against them.
    run.last = fact.hash;
    if (fact.seq === 1) run.first = fact.hash;
    if (run.broken) return sound ? run.broken : null;
    run.seq++;
    fold(run, fact);
    if ('erased' in fact) run.erased = fact.seq;
    else if (fact.type === 'child.created' || fact.type === 'child.ended') {
      run.links.push({ seq: fact.seq, type: fact.type, childId: fact.data.childId, hash: fact.data.hash });
    }
    return null;
  }

  /** A root's last hash covers its tree: child.created and child.ended carry the child's first and last hash. */
  function brokenLink(runId: string, { links }: Run): ChainFault | null {
    for (const { seq, type, childId, hash } of links) {
      const child = runs.get(childId);
      if ((type === 'child.created' ? child?.first : child?.last) === hash) continue;
      return { runId, seq, what: child ? `run ${childId} is not the one that it names (${type})` : `run ${childId} is gone` };
    }
    return null;
  }

  return {
    add,
    faults(rows) {
      const broken = rows
        ? rows.map((row) => against(row, runs.get(row.runId)) ?? brokenLink(row.runId, runs.get(row.runId) as Run))
        : [...runs].map(([runId, run]) => run.broken ?? brokenLink(runId, run));
      return broken.filter((each) => each !== null);
    },
  };
}

function fold(run: Run, fact: Fact | ErasedFact): void {
  if ('erased' in fact) run.state = null;
  else if (run.state) reduce(run.state, fact);
  else if (fact.type === 'run.created') run.state = initialState(fact);
}

function faultOf(fact: Fact | ErasedFact, { seq, last }: Run): ChainFault | null {
  const { runId } = fact;
  if (fact.seq !== seq + 1) return { runId, seq: seq + 1, what: `fact ${seq + 1} is missing` };
  if ('erased' in fact || factHash(fact, canonical(fact.data), last) === fact.hash) return null;
  return { runId, seq: fact.seq, what: `its content or the hash before it was changed (${fact.type})` };
}

/** The row is a fold of the facts; what does not fit it was taken away or added. */
function against(row: RunRow, run: Run | undefined): ChainFault | null {
  const { runId } = row;
  if (!run) return { runId, seq: 1, what: 'it has no facts' };
  if (run.broken) return run.broken;
  if (row.lastSeq !== run.seq) return { runId, seq: run.seq + 1, what: `its row says ${row.lastSeq} facts, and there are ${run.seq}` };
  if (row.lastHash !== run.last) return { runId, seq: run.seq, what: 'its row has another hash' };
  if (run.erased > 0 && row.erasedAt === undefined)
    return { runId, seq: run.erased, what: 'its data is gone, and the run was never erased' };
  if (run.state && canonical(stateToRow(run.state)) !== canonical(row))
    return { runId, seq: run.seq, what: 'its row says something else than its facts' };
  return null;
}
