// Checks the invariants of docs/DESIGN.md on a store after all its runs have ended, whatever was killed in between. It only reads.
import type { Fact, StoredFact } from '../contract/fact.ts';
import type { RunRow } from '../contract/run.ts';
import { loadPinned } from '../kernel/recovery/history.ts';
import { foldFacts } from '../kernel/state/fold.ts';
import { stateToRow } from '../kernel/state/outcome.ts';
import type { Store } from '../ports/store.ts';
import { createChainCheck } from '../records/chain-check.ts';
import { replayRun } from '../records/replay.ts';
import { canonical } from '../text/canonical.ts';
import { checkBudgets } from './invariants/budget.ts';

/**
 * The checks, with the numbers of the invariants:
 * `ended`: each run has one terminal fact, and it is the last one (1). `told`: each parent records the end of each child once (1).
 * `chain`: numbers without gaps, and an intact hash chain (2). `once`: no second answer and no second result of a call (3).
 * `budget`: no spending far beyond a limit (5). `idle`: no slot, timer or run is left (7). `fold`: rows match the facts.
 * `replay`: the same facts give the same requests and the same outcome (9).
 */
export const invariantNames = ['ended', 'told', 'chain', 'once', 'budget', 'idle', 'fold', 'replay'] as const;
export type InvariantName = (typeof invariantNames)[number];

export interface Violation {
  invariant: InvariantName;
  /** Null if it does not concern a single run. */
  runId: string | null;
  what: string;
}

export interface InvariantOptions {
  /** The statistics of the last runtime that used the store. */
  stats?: { active: number; queued: number; timers: number; runs: number };
  /** Invariants that are not checked, each with the reason. */
  excuses?: Partial<Record<InvariantName, string>>;
}

type Journals = Map<string, StoredFact[]>;

/** Returns all violations. */
export async function checkInvariants(
  store: Pick<Store, 'facts' | 'runs' | 'blob'>,
  { stats, excuses = {} }: InvariantOptions = {},
): Promise<Violation[]> {
  const rows = await store.runs({ order: 'oldest' });
  const journals: Journals = new Map(rows.map((row) => [row.runId, []]));
  const facts = await store.facts({});
  for (const fact of facts) journals.set(fact.runId, [...(journals.get(fact.runId) ?? []), fact]);
  const found = [...checkChains(rows, journals), ...checkIdle(stats)];
  // With missing or changed facts the other checks would only report consequences.
  if (found.every(({ invariant }) => invariant !== 'chain')) {
    for (const row of rows) found.push(...checkRun(row, journals));
    for (const row of rows) found.push(...(await checkReplay(row, journals.get(row.runId) ?? [], store)));
    found.push(...checkBudgets(facts, journals).map(({ runId, what }): Violation => ({ invariant: 'budget', runId, what })));
  }
  return found.filter(({ invariant }) => excuses[invariant] === undefined);
}

function checkChains(rows: RunRow[], journals: Journals): Violation[] {
  const faults: Violation[] = [];
  const trees = new Map<string, RunRow[]>();
  for (const row of rows) trees.set(row.rootId, [...(trees.get(row.rootId) ?? []), row]);
  for (const tree of trees.values())
    for (const { runId, seq, what } of checkTree(tree, journals)) faults.push({ invariant: 'chain', runId, what: `fact ${seq}: ${what}` });
  for (const runId of journals.keys())
    if (!rows.some((row) => row.runId === runId)) faults.push({ invariant: 'chain', runId, what: 'the run has facts but no row' });
  return faults;
}

function checkTree(tree: RunRow[], journals: Journals) {
  const check = createChainCheck();
  for (const row of tree) for (const fact of journals.get(row.runId) ?? []) check.add(fact);
  return check.faults(tree);
}

function checkIdle(stats: InvariantOptions['stats']): Violation[] {
  const leftovers = Object.entries(stats ?? {}).filter(
    ([name, count]) => ['active', 'queued', 'timers', 'runs'].includes(name) && count !== 0,
  );
  return leftovers.map(([name, count]) => ({ invariant: 'idle', runId: null, what: `${count} ${name} left` }));
}

function checkRun(row: RunRow, journals: Journals): Violation[] {
  const facts = journals.get(row.runId) ?? [];
  const violation = (invariant: InvariantName, what: string): Violation => ({ invariant, runId: row.runId, what });
  const faults: Violation[] = [];
  const ends = facts.filter((fact) => fact.type === 'run.ended').length;
  if (ends !== 1) faults.push(violation('ended', `the run has ${ends} terminal facts`));
  else if (facts.at(-1)?.type !== 'run.ended') faults.push(violation('ended', 'there are facts after the end of the run'));
  faults.push(...checkChildren(facts, journals).map((what) => violation('told', what)));
  faults.push(...checkDuplicates(facts).map((what) => violation('once', what)));
  const folded = canonical(stateToRow(foldFacts(facts)));
  if (folded !== canonical(row)) faults.push(violation('fold', `the row is ${canonical(row)}, but the facts give ${folded}`));
  return faults;
}

/** Parents and children agree about each other, and each end is recorded exactly once in the parent. */
function checkChildren(facts: Fact[], journals: Journals): string[] {
  const faults: string[] = [];
  const [first] = facts;
  const parentId = first?.type === 'run.created' ? first.data.parentId : null;
  const countFacts = (childId: string, type: 'child.created' | 'child.ended', list: Fact[]) =>
    list.filter((fact) => fact.type === type && fact.data.childId === childId).length;
  if (first && parentId !== null) {
    const count = countFacts(first.runId, 'child.created', journals.get(parentId) ?? []);
    if (count !== 1) faults.push(`the parent ${parentId} records its creation ${count} times`);
  }
  const children = facts.flatMap((fact) => (fact.type === 'child.created' ? [fact.data.childId] : []));
  for (const child of children) {
    const hasEnded = journals.get(child)?.at(-1)?.type === 'run.ended';
    const count = countFacts(child, 'child.ended', facts);
    if (count !== (hasEnded ? 1 : 0)) faults.push(`the end of ${child} is recorded ${count} times`);
  }
  for (const fact of facts)
    if (fact.type === 'child.ended' && !children.includes(fact.data.childId))
      faults.push(`the end of ${fact.data.childId} is recorded, but not its creation`);
  return faults;
}

function checkDuplicates(facts: Fact[]): string[] {
  const faults: string[] = [];
  const finished = new Set<string>();
  let isAnswerPending = false;
  for (const fact of facts) {
    if (fact.type === 'model.asked') isAnswerPending = true;
    if (fact.type === 'model.answered') {
      if (!isAnswerPending) faults.push(`fact ${fact.seq} is a second answer to one request`);
      isAnswerPending = false;
    }
    if (fact.type !== 'tool.finished') continue;
    const call = `${fact.data.turn}.${fact.data.index}`;
    if (finished.has(call)) faults.push(`call ${call} has a second result in fact ${fact.seq}`);
    finished.add(call);
  }
  return faults;
}

async function checkReplay({ runId }: RunRow, facts: Fact[], store: Pick<Store, 'blob'>): Promise<Violation[]> {
  const started = facts.find((fact) => fact.type === 'run.started');
  const pinned = started?.data.system ? await loadPinned(runId, started.data, store) : null;
  const { difference } = replayRun(facts, pinned);
  if (!difference) return [];
  const { seq, what, recorded, rebuilt } = difference;
  return [{ invariant: 'replay', runId, what: `fact ${seq}: ${what}: ${JSON.stringify(recorded)} ≠ ${JSON.stringify(rebuilt)}` }];
}
