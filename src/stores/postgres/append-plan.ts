// Decides which units of an append are accepted and what is written for them. Pure: it gets what the database has stored, read under the locks of all
// trees of the append.
import type { RunRow } from '../../contract/run.ts';
import { isLive } from '../../contract/run-status.ts';
import type { JobOptions } from '../../ports/queue.ts';
import type { AppendResult, OrderAuthenticator, Owner, TreeAppend, WrittenFact } from '../../ports/store.ts';
import { addConsumed, areHeadsAuthentic, type ConsumedIds, type StoredHead, signHead } from '../run-heads.ts';
import type { Ownership } from './ownership.ts';

export interface TreeState {
  /** Its number, also if it is not stored yet. */
  n: number;
  isNew: boolean;
  owner: string | null;
  fence: number | null;
}

export interface AppendRunState {
  n: number;
  isNew: boolean;
  /** The number of its tree; null if it is not stored yet. */
  tree: number | null;
  seq: number;
}

export interface StoredState {
  /** The id of the transaction that reads it and will write. */
  xid: string;
  isRegistered: boolean;
  trees: Map<string, TreeState>;
  runs: Map<string, AppendRunState>;
  /** Ids of runs by `keyName`. */
  keys: Map<string, string>;
  /** The root runs of units that consume orders without facts. */
  roots: Map<string, StoredHead>;
}

export interface RunWrite {
  n: number;
  id: string;
  tree: number;
  seq: number;
  row: RunRow | null;
  tag: string | null;
}

export interface AppendPlan {
  /** The transaction that writes it. */
  xid: string;
  results: AppendResult[];
  /** `job`: for a tree that no process owns yet. */
  newTrees: { n: number; root: string; job: JobOptions | null }[];
  runs: RunWrite[];
  facts: { run: number; tree: number; fact: WrittenFact }[];
  /** Units that were accepted, for their blobs and orders. */
  accepted: { unit: TreeAppend; tree: number }[];
  /** Orders that the trees have not consumed before. */
  consumed: { tree: number; rootId: string; runId: string; id: string }[];
}

export interface AppendPlanDeps {
  owner: Owner;
  /** The ownership of each unit's tree when `append` was called; null if another one has replaced it since. */
  ownerships: (Ownership | null)[];
  authenticator: OrderAuthenticator | undefined;
}

/** The name of an idempotency key under a parent. */
export function keyName(parentId: string | null, key: string): string {
  return JSON.stringify([parentId, key]);
}

/** A run as the accepted units leave it. */
interface TouchedRun extends AppendRunState {
  id: string;
  tree: number;
  row: RunRow | null;
  /** The hash of its last fact in this append; null if it has none. */
  lastHash: string | null;
  rootId: string;
}

export function planAppend(units: TreeAppend[], stored: StoredState, { owner, ownerships, authenticator }: AppendPlanDeps): AppendPlan {
  const plan: AppendPlan = { xid: stored.xid, results: [], newTrees: [], runs: [], facts: [], accepted: [], consumed: [] };
  const touched = new Map<string, TouchedRun>();
  const keys = new Map(stored.keys);
  const created = new Set<string>();
  /** What the ownerships know, with what this append adds. */
  const consumed = new Map<string, ConsumedIds>();
  const resigned = new Set<string>();

  for (const [index, unit] of units.entries()) {
    const reason = stored.isRegistered ? applyUnit(unit, ownerships[index] ?? null) : 'fenced';
    plan.results.push(reason === null ? { ok: true } : { ok: false, reason });
  }
  for (const run of touched.values()) {
    const { n, id, tree, seq, row, lastHash, rootId, isNew } = run;
    // A row alone leaves the tag of a stored run as it is.
    const isSigned = lastHash !== null || isNew;
    const tag = isSigned ? signHead({ runId: id, seq, hash: lastHash ?? '' }, consumed.get(rootId) ?? new Map(), authenticator) : null;
    plan.runs.push({ n, id, tree, seq, row, tag });
  }
  for (const rootId of resigned) resignRoot(rootId);
  return plan;

  /** The reason to refuse the unit; null if it was added to the plan. */
  function applyUnit(unit: TreeAppend, ownership: Ownership | null): 'fenced' | 'conflict' | null {
    const tree = stored.trees.get(unit.rootId) as TreeState;
    if (ownership === null) return 'fenced';
    const isStored = !tree.isNew || created.has(unit.rootId);
    if (!tree.isNew && (tree.owner !== owner.id || (ownership.fence !== null && ownership.fence !== tree.fence))) return 'fenced';
    const runs = readRuns(unit, isStored ? tree.n : null, tree.n);
    if (typeof runs === 'string') return runs;
    for (const [id, run] of runs) touched.set(id, run);
    for (const { runId, parentId, idempotencyKey } of unit.rows) {
      if (idempotencyKey !== null) keys.set(keyName(parentId, idempotencyKey), runId);
    }
    if (!isStored) {
      created.add(unit.rootId);
      plan.newTrees.push({ n: tree.n, root: unit.rootId, job: unit.job ?? null });
    }
    for (const fact of unit.facts) plan.facts.push({ run: (runs.get(fact.runId) as TouchedRun).n, tree: tree.n, fact });
    plan.accepted.push({ unit, tree: tree.n });
    consumeOrders(unit, tree.n, ownership);
    return null;
  }

  /** The runs of the unit as it would leave them, or the reason to refuse it. `tree`: null if the tree does not exist yet. */
  function readRuns(unit: TreeAppend, tree: number | null, treeNumber: number): Map<string, TouchedRun> | 'fenced' | 'conflict' {
    const runs = new Map<string, TouchedRun>();
    const keysInUnit = new Map<string, string>();
    const read = (id: string): TouchedRun | null => {
      const known = runs.get(id) ?? touched.get(id);
      if (known !== undefined && known.rootId !== unit.rootId) return null;
      if (known !== undefined) return { ...known };
      const { n, isNew, tree: own, seq } = stored.runs.get(id) as AppendRunState;
      if (own !== null && own !== tree) return null;
      return { id, n, isNew, tree: treeNumber, seq, row: null, lastHash: null, rootId: unit.rootId };
    };
    for (const { runId, seq, hash } of unit.facts) {
      const run = read(runId);
      if (run === null) return 'fenced';
      if (seq !== run.seq + 1) return 'conflict';
      runs.set(runId, { ...run, seq, lastHash: hash });
    }
    for (const row of unit.rows) {
      const run = read(row.runId);
      if (run === null) return 'fenced';
      if (row.idempotencyKey !== null) {
        const name = keyName(row.parentId, row.idempotencyKey);
        const holder = keys.get(name) ?? keysInUnit.get(name);
        if (holder !== undefined && holder !== row.runId) return 'conflict';
        keysInUnit.set(name, row.runId);
      }
      runs.set(row.runId, { ...run, row });
    }
    return runs;
  }

  /**
   * Records consumed orders under the first run of the unit that got facts. An order that several runs carry out, such as a pause, is recorded under
   * the first of them. Also if somebody has removed an order meanwhile, to insert it again later.
   */
  function consumeOrders(unit: TreeAppend, tree: number, ownership: Ownership): void {
    const { rootId } = unit;
    const known = consumed.get(rootId) ?? copyIds(ownership.consumed);
    consumed.set(rootId, known);
    if (unit.consumed.length === 0) return;
    const runId = unit.facts[0]?.runId ?? rootId;
    const before = new Set([...known.values()].flatMap((ids) => [...ids]));
    for (const id of unit.consumed) {
      if (before.has(id)) continue;
      addConsumed(known, { runId, id });
      plan.consumed.push({ tree, rootId, runId, id });
    }
    if (unit.facts.length === 0 && touched.get(rootId)?.lastHash == null) resigned.add(rootId);
  }

  /** Orders were consumed without a fact of the root: its tag is signed again, if the current one is authentic. */
  function resignRoot(rootId: string): void {
    const head = stored.roots.get(rootId);
    const index = units.findIndex((unit) => unit.rootId === rootId);
    const before = ownerships[index]?.consumed ?? new Map();
    if (head === undefined || (touched.get(rootId)?.lastHash ?? null) !== null || !areHeadsAuthentic([head], before, authenticator)) return;
    const tag = signHead({ runId: rootId, seq: head.seq, hash: head.hash }, consumed.get(rootId) ?? new Map(), authenticator);
    const known = plan.runs.find(({ id }) => id === rootId);
    if (known !== undefined) known.tag = tag;
    else {
      const { n, tree } = stored.runs.get(rootId) as AppendRunState;
      plan.runs.push({ n, id: rootId, tree: tree as number, seq: head.seq, row: null, tag });
    }
  }
}

/** Whether the run of a row has not ended. */
export function isLiveRow(row: RunRow | null): boolean {
  return row !== null && isLive(row.status);
}

function copyIds(consumed: ConsumedIds): ConsumedIds {
  return new Map([...consumed].map(([runId, ids]) => [runId, new Set(ids)]));
}
