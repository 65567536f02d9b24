// What a memory store keeps. Texts stay as they were written and rows are copied, so that nobody can change what is stored.

import type { Order } from '../../contract/order.ts';
import { isLive, type RunRow } from '../../contract/run.ts';
import type { AppendResult, Owner, TreeAppend, WrittenFact } from '../../ports/store.ts';

/** An empty `text` is data that was erased. */
export interface KeptFact extends Omit<WrittenFact, 'data'> {
  position: number;
}

export interface KeptRun {
  /** Counts runs in the order of their creation. */
  n: number;
  row: RunRow | null;
  rootId: string;
  facts: KeptFact[];
}

export interface KeptTree {
  owner: string;
  facts: KeptFact[];
  runs: KeptRun[];
  /** Hashes of the blobs that it was given. */
  pins: Set<string>;
}

export interface Memory {
  facts: KeptFact[];
  runs: Map<string, KeptRun>;
  live: Set<KeptRun>;
  children: Map<string | null, KeptRun[]>;
  trees: Map<string, KeptTree>;
  /** Run ids by parent and idempotency key. */
  keys: Map<string, string>;
  blobs: Map<string, string>;
  orders: Map<string, Order>;
  /** `lost`: as a process that was killed would leave it. */
  owners: Map<string, { fence: number; lost: boolean }>;
  opened: number;
  /** The stores at this memory. */
  stations: Set<{ wake(): void }>;
}

export function createMemory(): Memory {
  return {
    facts: [],
    runs: new Map(),
    live: new Set(),
    children: new Map(),
    trees: new Map(),
    keys: new Map(),
    blobs: new Map(),
    orders: new Map(),
    owners: new Map(),
    opened: 0,
    stations: new Set(),
  };
}

export function createTree(owner: Owner): KeptTree {
  return { owner: owner.id, facts: [], runs: [], pins: new Set() };
}

export function isDriving(memory: Memory, owner: Owner): boolean {
  return memory.owners.get(owner.id)?.fence === owner.fence;
}

export function copyRow(row: RunRow): RunRow {
  return { ...row, tokens: { ...row.tokens } };
}

/** All reasons to refuse the unit are found before its first write. */
export function appendUnit(memory: Memory, owner: Owner, unit: TreeAppend): AppendResult {
  let tree = memory.trees.get(unit.rootId);
  if (tree !== undefined && tree.owner !== owner.id) return { ok: false, reason: 'fenced' };
  const reason = refusal(memory, unit);
  if (reason !== null) return { ok: false, reason };
  if (tree === undefined) {
    tree = createTree(owner);
    memory.trees.set(unit.rootId, tree);
  }
  for (const fact of unit.facts) {
    const { runId, seq, at, v, type, text, hash } = fact;
    const kept: KeptFact = { runId, seq, at, v, type, text, hash, position: memory.facts.length + 1 };
    (memory.runs.get(runId) ?? addRun(memory, runId, unit.rootId, tree)).facts.push(kept);
    memory.facts.push(kept);
    tree.facts.push(kept);
  }
  for (const row of unit.rows) setRow(memory, memory.runs.get(row.runId) ?? addRun(memory, row.runId, unit.rootId, tree), row);
  for (const { hash, text } of unit.blobs) {
    memory.blobs.set(hash, text);
    tree.pins.add(hash);
  }
  for (const id of unit.consumed) if (memory.orders.get(id)?.rootId === unit.rootId) memory.orders.delete(id);
  return { ok: true };
}

function refusal(memory: Memory, unit: TreeAppend): 'fenced' | 'conflict' | null {
  const last = new Map<string, number>();
  for (const { runId, seq } of unit.facts) {
    const run = memory.runs.get(runId);
    if (run !== undefined && run.rootId !== unit.rootId) return 'fenced';
    if (seq !== (last.get(runId) ?? run?.facts.length ?? 0) + 1) return 'conflict';
    last.set(runId, seq);
  }
  const keys = new Map<string, string>();
  for (const { runId, parentId, idempotencyKey } of unit.rows) {
    const rootId = memory.runs.get(runId)?.rootId;
    if (rootId !== undefined && rootId !== unit.rootId) return 'fenced';
    if (idempotencyKey === null) continue;
    const key = JSON.stringify([parentId, idempotencyKey]);
    if ((memory.keys.get(key) ?? keys.get(key) ?? runId) !== runId) return 'conflict';
    keys.set(key, runId);
  }
  return null;
}

function addRun(memory: Memory, runId: string, rootId: string, tree: KeptTree): KeptRun {
  const run: KeptRun = { n: memory.runs.size, row: null, rootId, facts: [] };
  memory.runs.set(runId, run);
  tree.runs.push(run);
  return run;
}

function setRow(memory: Memory, run: KeptRun, row: RunRow): void {
  if (run.row === null) {
    const siblings = memory.children.get(row.parentId);
    if (siblings === undefined) memory.children.set(row.parentId, [run]);
    else siblings.push(run);
    if (row.idempotencyKey !== null) memory.keys.set(JSON.stringify([row.parentId, row.idempotencyKey]), row.runId);
  }
  run.row = copyRow(row);
  if (isLive(row.status)) memory.live.add(run);
  else memory.live.delete(run);
}
