// The data of memory stores, and appending to it. Facts are kept as text and rows are copied, so that callers cannot change stored data.

import type { Delta } from '../../contract/delta.ts';
import type { Order } from '../../contract/order.ts';
import type { RunRow } from '../../contract/run.ts';
import { isLive } from '../../contract/run-status.ts';
import type { JobOptions } from '../../ports/queue.ts';
import type { AppendResult, BlobContent, Owner, TreeAppend, WrittenFact } from '../../ports/store.ts';
import { endsTree } from '../tree-end.ts';
import { createMemoryLedger, type MemoryLedger } from './budgets.ts';
import type { MemoryLimitData } from './limits.ts';

/** An empty `text` means that the data was erased. */
export interface FactRecord extends Omit<WrittenFact, 'data'> {
  position: number;
}

export interface RunRecord {
  /** The position in the order of creation. */
  n: number;
  row: RunRow | null;
  rootId: string;
  facts: FactRecord[];
}

export interface JobRecord {
  id: string;
  /** The position in the order of creation. */
  n: number;
  rootId: string;
  queue: string;
  priority: number;
  group: string | null;
  /** Milliseconds since the epoch. */
  startAfter: number;
  /** Until when it belongs to the worker that took it; 0 if none has it. */
  takenUntil: number;
  problem: string | null;
}

export interface TreeRecord {
  /** Null for a tree that was released, or that no worker has taken yet. */
  owner: string | null;
  /** How it waits for a worker; null for a tree that was not queued. */
  job: JobOptions | null;
  facts: FactRecord[];
  runs: RunRecord[];
  /** Hashes of the blobs that were appended with this tree. */
  pins: Set<string>;
  /** Ids of orders that were carried out or dropped. */
  consumed: Set<string>;
}

export interface MemoryData {
  facts: FactRecord[];
  runs: Map<string, RunRecord>;
  liveRuns: Set<RunRecord>;
  children: Map<string | null, RunRecord[]>;
  trees: Map<string, TreeRecord>;
  /** Run ids by parent and idempotency key. */
  keys: Map<string, string>;
  blobs: Map<string, BlobContent>;
  orders: Map<string, Order>;
  /** `isDead`: tests set it to simulate a killed process. */
  owners: Map<string, { isDead: boolean; queues: string[] }>;
  ownerCount: number;
  jobs: Map<string, JobRecord>;
  jobCount: number;
  queueWatchers: Set<{ queue: string; added(): void }>;
  budgets: MemoryLedger;
  limits: MemoryLimitData;
  /** The open stores that share this data. */
  stores: Set<{ wake(): void; receive(delta: Delta): void; isSubscribed(): boolean }>;
}

export function createMemoryData(): MemoryData {
  return {
    facts: [],
    runs: new Map(),
    liveRuns: new Set(),
    children: new Map(),
    trees: new Map(),
    keys: new Map(),
    blobs: new Map(),
    orders: new Map(),
    owners: new Map(),
    ownerCount: 0,
    jobs: new Map(),
    jobCount: 0,
    queueWatchers: new Set(),
    budgets: createMemoryLedger(),
    limits: { states: new Map(), listeners: new Map() },
    stores: new Set(),
  };
}

export function createTreeRecord(owner: Owner | null, job: JobOptions | null = null): TreeRecord {
  return { owner: owner?.id ?? null, job, facts: [], runs: [], pins: new Set(), consumed: new Set() };
}

export function isRegistered(memory: MemoryData, owner: Owner): boolean {
  return memory.owners.has(owner.id);
}

export function copyRow(row: RunRow): RunRow {
  return { ...row, tokens: { ...row.tokens } };
}

export function deleteOrders(memory: MemoryData, rootId: string): void {
  for (const [id, order] of memory.orders) if (order.rootId === rootId) memory.orders.delete(id);
}

/** Finds every reason to refuse the unit before its first write. */
export function appendUnit(memory: MemoryData, owner: Owner, unit: TreeAppend): AppendResult {
  let tree = memory.trees.get(unit.rootId);
  if (tree !== undefined && tree.owner !== owner.id) return { ok: false, reason: 'fenced' };
  const reason = findRefusal(memory, unit);
  if (reason !== null) return { ok: false, reason };
  if (tree === undefined) {
    tree = unit.job === undefined ? createTreeRecord(owner) : createTreeRecord(null, unit.job);
    memory.trees.set(unit.rootId, tree);
    if (unit.job !== undefined) addJob(memory, unit.rootId, unit.job);
  }
  for (const fact of unit.facts) {
    const { runId, seq, at, v, type, text, hash } = fact;
    const record: FactRecord = { runId, seq, at, v, type, text, hash, position: memory.facts.length + 1 };
    (memory.runs.get(runId) ?? addRun(memory, runId, unit.rootId, tree)).facts.push(record);
    memory.facts.push(record);
    tree.facts.push(record);
  }
  for (const row of unit.rows) setRow(memory, memory.runs.get(row.runId) ?? addRun(memory, row.runId, unit.rootId, tree), row);
  for (const { hash, content } of unit.blobs) {
    memory.blobs.set(hash, content);
    tree.pins.add(hash);
  }
  for (const id of unit.consumed) {
    tree.consumed.add(id);
    if (memory.orders.get(id)?.rootId === unit.rootId) memory.orders.delete(id);
  }
  if (endsTree(unit)) deleteOrders(memory, unit.rootId);
  return { ok: true };
}

/** Also wakes the workers of the queue. */
export function addJob(memory: MemoryData, rootId: string, { queue, priority = 0, startAfter, group }: JobOptions): void {
  const n = ++memory.jobCount;
  const due = startAfter === undefined ? 0 : Date.parse(startAfter);
  memory.jobs.set(`job-${n}`, {
    id: `job-${n}`,
    n,
    rootId,
    queue,
    priority,
    group: group ?? null,
    startAfter: due,
    takenUntil: 0,
    problem: null,
  });
  for (const watcher of memory.queueWatchers) if (watcher.queue === queue) watcher.added();
}

/** Gives a tree of a queue a job that can be taken now, if no process drives it and it has none. The delayed job of a tree that has not started stays. */
export function wakeTree(memory: MemoryData, rootId: string, now: number): void {
  const tree = memory.trees.get(rootId);
  if (!tree?.job || tree.owner !== null) return;
  const job = memory.jobs.values().find((each) => each.rootId === rootId);
  const hasStarted = memory.runs.get(rootId)?.row?.status !== 'queued';
  if (job && (job.takenUntil > now || job.startAfter <= now || !hasStarted)) return;
  if (job) memory.jobs.delete(job.id);
  const { startAfter: _, ...options } = tree.job;
  addJob(memory, rootId, options);
}

/**
 * Gives a tree of a queue a job if it has none and has not ended. A process that claims a tree calls it: if that process dies, other workers find the tree by
 * its job.
 */
export function ensureJob(memory: MemoryData, rootId: string): void {
  const { job } = memory.trees.get(rootId) ?? {};
  const row = memory.runs.get(rootId)?.row;
  if (!job || !row || !isLive(row.status) || memory.jobs.values().some((each) => each.rootId === rootId)) return;
  const { startAfter: _, ...options } = job;
  addJob(memory, rootId, options);
}

function findRefusal(memory: MemoryData, unit: TreeAppend): 'fenced' | 'conflict' | null {
  const lastSeqs = new Map<string, number>();
  for (const { runId, seq } of unit.facts) {
    const run = memory.runs.get(runId);
    if (run !== undefined && run.rootId !== unit.rootId) return 'fenced';
    if (seq !== (lastSeqs.get(runId) ?? run?.facts.length ?? 0) + 1) return 'conflict';
    lastSeqs.set(runId, seq);
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

function addRun(memory: MemoryData, runId: string, rootId: string, tree: TreeRecord): RunRecord {
  const run: RunRecord = { n: memory.runs.size, row: null, rootId, facts: [] };
  memory.runs.set(runId, run);
  tree.runs.push(run);
  return run;
}

function setRow(memory: MemoryData, run: RunRecord, row: RunRow): void {
  if (run.row === null) {
    const siblings = memory.children.get(row.parentId);
    if (siblings === undefined) memory.children.set(row.parentId, [run]);
    else siblings.push(run);
    if (row.idempotencyKey !== null) memory.keys.set(JSON.stringify([row.parentId, row.idempotencyKey]), row.runId);
  }
  run.row = copyRow(row);
  if (isLive(row.status)) memory.liveRuns.add(run);
  else memory.liveRuns.delete(run);
}
