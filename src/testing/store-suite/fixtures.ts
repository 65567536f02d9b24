// Test data of the store suite: three runs, and the facts, rows, units and orders about them.
import type { Order } from '../../contract/order.ts';
import type { RunRow } from '../../contract/run.ts';
import type { Owner, Store, TreeAppend, WrittenFact } from '../../ports/store.ts';

/** One set of data and the ways to open it. */
export interface StoreHarness {
  /** Opens the same data once more, as another process would. */
  open(): Promise<Store>;
  /** Makes the owner look as if its process had been killed. */
  kill(owner: Owner): Promise<void>;
  /** Makes the owner look as if its last heartbeat were older than a lease lasts. */
  silence(owner: Owner): Promise<void>;
  /** Writes an order into the data as an attacker without the key for orders could. Null if that is impossible. */
  forge: ((order: Order) => Promise<void>) | null;
  /** Inserts an order that the store has signed before once more, as an attacker with a copy of it could. Null if that is impossible. */
  replay: ((order: Order) => Promise<void>) | null;
  /** Makes appends with blobs wait after they have written their facts. Null if no two appends can be under way at the same time. */
  delayBlobs: (() => Promise<{ isWaiting(): Promise<boolean>; end(): Promise<void> }>) | null;
  /** What the stores reported. */
  warnings(): string[];
  /** Closes all stores and removes the data. */
  dispose(): Promise<void>;
}

/** A new store with one owner, for each test. */
export interface StoreContext {
  harness: StoreHarness;
  store: Store;
  owner: Owner;
}

/** The context of the current test. Call it inside a test, not while tests are defined. */
export type GetContext = () => StoreContext;

export const at = '2026-01-02T03:04:05.678Z';
export const createId = (n: number) => n.toString(16).padStart(16, '0');
export const createHash = (n: number) => n.toString(16).padStart(64, '0');
export const [a, b, c] = [createId(10), createId(11), createId(12)];

export const accepted = { ok: true };
export const fenced = { ok: false, reason: 'fenced' };
export const conflict = { ok: false, reason: 'conflict' };

export function createFacts(runId: string, from: number, to = from): WrittenFact[] {
  return Array.from({ length: to - from + 1 }, (_, index) => {
    const data = { from: 'parent', text: `${runId} ${from + index}` };
    const head = { runId, seq: from + index, at, v: 1, type: 'message.received' as const };
    return { ...head, data, hash: createHash(from + index), text: JSON.stringify(data) };
  });
}

export function createRow(runId: string, overrides: Partial<RunRow> = {}): RunRow {
  return {
    runId,
    parentId: null,
    rootId: runId,
    depth: 0,
    kind: 'agent',
    label: null,
    agent: 'general',
    model: null,
    status: 'running',
    activity: null,
    turns: 0,
    tokens: { input: 1, output: 2, cached: 0, reasoning: 0 },
    costUsd: null,
    createdAt: at,
    startedAt: at,
    endedAt: null,
    idempotencyKey: null,
    lastSeq: 1,
    lastHash: createHash(1),
    ...overrides,
  };
}

export function createUnit(rootId: string, overrides: Partial<TreeAppend> = {}): TreeAppend {
  return { rootId, facts: [], rows: [], blobs: [], consumed: [], ...overrides };
}

/** A new root with one fact and its row. */
export function createRootUnit(runId: string, overrides: Partial<RunRow> = {}): TreeAppend {
  return createUnit(runId, { facts: createFacts(runId, 1), rows: [createRow(runId, overrides)] });
}

export function createOrder(n: number, rootId: string): Order {
  return { id: `order-${n}`, runId: rootId, rootId, kind: 'message', by: `person ${n}`, text: `text ${n}`, at };
}

export async function readSeqs(store: Store, runId: string): Promise<number[]> {
  return (await store.facts({ runId })).map(({ seq }) => seq);
}

export async function readRunIds(store: Store, query: Parameters<Store['runs']>[0]): Promise<string[]> {
  return (await store.runs(query)).map(({ runId }) => runId);
}
