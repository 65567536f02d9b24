// What must hold of a store after everything in it has ended, whatever was killed when (DESIGN §4). Given a store it reads it all; it writes nothing.
import type { Fact, StoredFact } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import { loadPinned } from '../kernel/history.ts';
import { stateToRow } from '../kernel/outcome.ts';
import { foldFacts } from '../kernel/state.ts';
import type { Store } from '../ports/store.ts';
import { createChainCheck } from '../records/chain-check.ts';
import { replayRun } from '../records/replay.ts';
import { canonical } from '../text/canonical.ts';
import { budgetFaults } from './invariants/budget.ts';

/**
 * `ended`: one terminal fact for each run, and it is the last one (1). `told`: each parent is told of each child once (1). `chain`: numbers
 * without a gap and the hash chain (2). `once`: no answer and no result of a call twice (3). `budget`: (5). `idle`: no slot, timer or run is
 * left (7). `fold`: rows are the folds of the facts. `replay`: the same facts give the same requests and the same outcome (9).
 */
export const invariantNames = ['ended', 'told', 'chain', 'once', 'budget', 'idle', 'fold', 'replay'] as const;
export type InvariantName = (typeof invariantNames)[number];

export interface Violation {
  invariant: InvariantName;
  /** Null for what is not one run's. */
  runId: string | null;
  what: string;
}

export interface InvariantOptions {
  /** Of the runtime that was last at work on the store. */
  stats?: { active: number; queued: number; timers: number; runs: number };
  /** Invariants that need not hold here, each with the reason. */
  excuses?: Partial<Record<InvariantName, string>>;
}

type Journals = Map<string, StoredFact[]>;

/** Everything that does not hold; empty when all does. */
export async function checkInvariants(
  store: Pick<Store, 'facts' | 'runs' | 'blob'>,
  { stats, excuses = {} }: InvariantOptions = {},
): Promise<Violation[]> {
  const rows = await store.runs({ order: 'oldest' });
  const journals: Journals = new Map(rows.map((row) => [row.runId, []]));
  const facts = await store.facts({});
  for (const fact of facts) journals.set(fact.runId, [...(journals.get(fact.runId) ?? []), fact]);
  const found = [...chainFaults(rows, journals), ...idleFaults(stats)];
  // What is said of facts that are missing or changed would only hide that.
  if (found.every(({ invariant }) => invariant !== 'chain')) {
    for (const row of rows) found.push(...runFaults(row, journals));
    for (const row of rows) found.push(...(await replayFaults(row, journals.get(row.runId) ?? [], store)));
    found.push(...budgetFaults(facts, journals).map(({ runId, what }): Violation => ({ invariant: 'budget', runId, what })));
  }
  return found.filter(({ invariant }) => excuses[invariant] === undefined);
}

function chainFaults(rows: RunRow[], journals: Journals): Violation[] {
  const faults: Violation[] = [];
  const trees = new Map<string, RunRow[]>();
  for (const row of rows) trees.set(row.rootId, [...(trees.get(row.rootId) ?? []), row]);
  for (const tree of trees.values())
    for (const { runId, seq, what } of checked(tree, journals)) faults.push({ invariant: 'chain', runId, what: `fact ${seq}: ${what}` });
  for (const runId of journals.keys())
    if (!rows.some((row) => row.runId === runId)) faults.push({ invariant: 'chain', runId, what: 'it has facts and no row' });
  return faults;
}

function checked(tree: RunRow[], journals: Journals) {
  const check = createChainCheck();
  for (const row of tree) for (const fact of journals.get(row.runId) ?? []) check.add(fact);
  return check.faults(tree);
}

function idleFaults(stats: InvariantOptions['stats']): Violation[] {
  const left = Object.entries(stats ?? {}).filter(([name, count]) => ['active', 'queued', 'timers', 'runs'].includes(name) && count !== 0);
  return left.map(([name, count]) => ({ invariant: 'idle', runId: null, what: `${count} ${name} left over` }));
}

function runFaults(row: RunRow, journals: Journals): Violation[] {
  const facts = journals.get(row.runId) ?? [];
  const at = (invariant: InvariantName, what: string): Violation => ({ invariant, runId: row.runId, what });
  const faults: Violation[] = [];
  const ends = facts.filter((fact) => fact.type === 'run.ended').length;
  if (ends !== 1) faults.push(at('ended', `it has ${ends} terminal facts`));
  else if (facts.at(-1)?.type !== 'run.ended') faults.push(at('ended', 'facts follow its end'));
  faults.push(...toldFaults(facts, journals).map((what) => at('told', what)), ...onceFaults(facts).map((what) => at('once', what)));
  const folded = canonical(stateToRow(foldFacts(facts)));
  if (folded !== canonical(row)) faults.push(at('fold', `its row is ${canonical(row)}, and its facts say ${folded}`));
  return faults;
}

/** Both sides agree on who is whose child, and on each end there is exactly one word. */
function toldFaults(facts: Fact[], journals: Journals): string[] {
  const faults: string[] = [];
  const [first] = facts;
  const parentId = first?.type === 'run.created' ? first.data.parentId : null;
  const named = (childId: string, type: 'child.created' | 'child.ended', list: Fact[]) =>
    list.filter((fact) => fact.type === type && fact.data.childId === childId).length;
  if (first && parentId !== null) {
    const times = named(first.runId, 'child.created', journals.get(parentId) ?? []);
    if (times !== 1) faults.push(`its parent ${parentId} names it ${times} times`);
  }
  const children = facts.flatMap((fact) => (fact.type === 'child.created' ? [fact.data.childId] : []));
  for (const child of children) {
    const hasEnded = journals.get(child)?.at(-1)?.type === 'run.ended';
    const times = named(child, 'child.ended', facts);
    if (times !== (hasEnded ? 1 : 0)) faults.push(`it was told ${times} times of the end of ${child}`);
  }
  for (const fact of facts)
    if (fact.type === 'child.ended' && !children.includes(fact.data.childId))
      faults.push(`it was told of ${fact.data.childId}, which it never created`);
  return faults;
}

function onceFaults(facts: Fact[]): string[] {
  const faults: string[] = [];
  const finished = new Set<string>();
  let open = false;
  for (const fact of facts) {
    if (fact.type === 'model.asked') open = true;
    if (fact.type === 'model.answered') {
      if (!open) faults.push(`fact ${fact.seq} answers a question that has its answer`);
      open = false;
    }
    if (fact.type !== 'tool.finished') continue;
    const call = `${fact.data.turn}.${fact.data.index}`;
    if (finished.has(call)) faults.push(`call ${call} has a second result in fact ${fact.seq}`);
    finished.add(call);
  }
  return faults;
}

async function replayFaults({ runId }: RunRow, facts: Fact[], store: Pick<Store, 'blob'>): Promise<Violation[]> {
  const started = facts.find((fact) => fact.type === 'run.started');
  const pinned = started?.data.system ? await loadPinned(runId, started.data, store) : null;
  const { difference } = replayRun(facts, pinned);
  if (!difference) return [];
  const { seq, what, recorded, rebuilt } = difference;
  return [{ invariant: 'replay', runId, what: `fact ${seq}: ${what}: ${JSON.stringify(recorded)} ≠ ${JSON.stringify(rebuilt)}` }];
}
