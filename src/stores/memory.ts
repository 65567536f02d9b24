// The store port in memory. This folder holds the implementations of ports/store.ts and ports/notes.ts: in memory, in SQLite and in PostgreSQL.
// Stores check and keep facts; numbering, hashing and interpreting them belongs to the kernel.
import type { Delta } from '../contract/delta.ts';
import { RetinueError } from '../contract/error.ts';
import type { Order } from '../contract/order.ts';
import { isLive } from '../contract/run-status.ts';
import type { Clock } from '../ports/clock.ts';
import type { Owner, Store } from '../ports/store.ts';
import { createMemoryBudgets } from './memory/budgets.ts';
import { appendUnit, createMemoryData, createTreeRecord, ensureJob, isRegistered, type MemoryData, wakeTree } from './memory/data.ts';
import { eraseTree, weighStoredTrees } from './memory/erase.ts';
import { createMemoryLimits } from './memory/limits.ts';
import { createMemoryQueue } from './memory/queue.ts';
import { countRuns, getRow, readCursor, readFacts, readRuns, readTrail, searchFacts } from './memory/read.ts';
import { createUnregisteredError } from './unregistered.ts';

export interface MemoryStoreOptions {
  /** Schedules the calls of watchers. Default: a microtask. */
  clock?: Clock;
  /** Data that several stores share, as processes share a database. Default: data of its own. */
  memory?: MemoryData;
}

/** A store in this process's memory, for tests and for programs that want nothing on disk. It fails only after `close`. */
export function createMemoryStore({ clock, memory = createMemoryData() }: MemoryStoreOptions = {}): Store {
  const opened = new Set<string>();
  const watchers = new Set<() => void>();
  const subscribers = new Set<(delta: Delta) => void>();
  const self = { wake, receive, isSubscribed: () => subscribers.size > 0 };
  let isWaking = false;
  let isClosed = false;
  memory.stores.add(self);

  function assertOpen(): void {
    if (isClosed) throw new RetinueError('store_io', 'The store is closed.');
  }

  function wake(): void {
    if (isWaking || watchers.size === 0) return;
    isWaking = true;
    const callWatchers = () => {
      isWaking = false;
      for (const changed of [...watchers]) changed();
    };
    if (clock) clock.defer(callWatchers);
    else queueMicrotask(callWatchers);
  }

  function receive(delta: Delta): void {
    for (const listener of subscribers) listener(delta);
  }

  function wakeOthers(): void {
    if (memory.stores.size > 1) for (const other of memory.stores) if (other !== self) other.wake();
  }

  const isForOwner = (owner: Owner, order: Order) => memory.trees.get(order.rootId)?.owner === owner.id;

  return {
    async append(owner, units) {
      assertOpen();
      const mayWrite = isRegistered(memory, owner);
      const results = units.map((unit) => (mayWrite ? appendUnit(memory, owner, unit) : { ok: false as const, reason: 'fenced' as const }));
      wakeOthers();
      return results;
    },

    async facts(query) {
      assertOpen();
      return readFacts(memory, query);
    },
    async cursor(after) {
      assertOpen();
      return readCursor(memory, after);
    },
    async search(text, options) {
      assertOpen();
      return searchFacts(memory, text, options);
    },
    hasSubscribers: () => memory.stores.values().some((other) => other !== self && other.isSubscribed()),
    publish(delta) {
      for (const other of memory.stores) if (other !== self) other.receive(delta);
    },
    subscribe(listener) {
      assertOpen();
      subscribers.add(listener);
      return () => void subscribers.delete(listener);
    },
    async trail(runId) {
      assertOpen();
      return readTrail(memory, runId);
    },
    async run(runId) {
      assertOpen();
      return getRow(memory.runs.get(runId));
    },
    async head(runId) {
      assertOpen();
      const last = memory.runs.get(runId)?.facts.at(-1);
      return last === undefined ? null : { seq: last.seq, hash: last.hash };
    },
    async runs(query) {
      assertOpen();
      return readRuns(memory, query);
    },
    async countRuns(rootIds) {
      assertOpen();
      return countRuns(memory, rootIds);
    },
    async runByKey(parentId, key) {
      assertOpen();
      return getRow(memory.runs.get(memory.keys.get(JSON.stringify([parentId, key])) ?? ''));
    },
    async blob(hash) {
      assertOpen();
      return memory.blobs.get(hash) ?? null;
    },

    async erase(rootId, at) {
      assertOpen();
      const erasure = eraseTree(memory, rootId, at);
      wakeOthers();
      return erasure;
    },
    async weigh(rootIds) {
      assertOpen();
      return weighStoredTrees(memory, rootIds);
    },
    async reclaim() {
      assertOpen();
    },
    async size() {
      assertOpen();
      return null;
    },
    // Only this process can change the data, and orders come only through `order`.
    async findFaults() {
      assertOpen();
      return [];
    },

    async order(order) {
      assertOpen();
      const tree = memory.trees.get(order.rootId);
      const root = memory.runs.get(order.rootId)?.row;
      const hasEffect = !tree?.consumed.has(order.id) && (!root || isLive(root.status));
      if (hasEffect && !memory.orders.has(order.id)) memory.orders.set(order.id, { ...order });
      if (order.kind !== 'compact') wakeTree(memory, order.rootId, clock?.now() ?? Date.now());
      for (const each of memory.stores) each.wake();
    },
    async orders(owner) {
      assertOpen();
      if (!isRegistered(memory, owner)) throw createUnregisteredError();
      return [...memory.orders.values()].filter((order) => isForOwner(owner, order)).map((order) => ({ ...order }));
    },
    async dropOrders(owner, ids) {
      assertOpen();
      if (!isRegistered(memory, owner)) return;
      for (const id of ids) {
        const order = memory.orders.get(id);
        if (order === undefined || !isForOwner(owner, order)) continue;
        memory.orders.delete(id);
        memory.trees.get(order.rootId)?.consumed.add(id);
      }
    },

    async open(queues = []) {
      assertOpen();
      const owner = { id: `memory-${++memory.ownerCount}` };
      memory.owners.set(owner.id, { isDead: false, queues });
      opened.add(owner.id);
      return owner;
    },
    async release(owner) {
      assertOpen();
      memory.owners.delete(owner.id);
      opened.delete(owner.id);
    },
    async releaseTree(owner, rootId) {
      assertOpen();
      const tree = memory.trees.get(rootId);
      if (tree?.owner === owner.id) tree.owner = null;
    },
    async claim(owner, rootId) {
      assertOpen();
      if (!isRegistered(memory, owner)) throw createUnregisteredError();
      const tree = memory.trees.get(rootId);
      if (tree === undefined) {
        memory.trees.set(rootId, createTreeRecord(owner));
        return { ok: true, previous: null };
      }
      if (tree.owner === owner.id) return { ok: true, previous: null };
      const previous = memory.owners.get(tree.owner ?? '');
      if (previous !== undefined && !previous.isDead) return { ok: false, owner: tree.owner as string, pid: process.pid };
      const previousId = previous === undefined ? null : tree.owner;
      tree.owner = owner.id;
      ensureJob(memory, rootId);
      return { ok: true, previous: previousId };
    },
    async holders(rootIds) {
      assertOpen();
      return new Map(
        rootIds.map((rootId) => {
          const owner = memory.trees.get(rootId)?.owner ?? '';
          const current = memory.owners.get(owner);
          return [rootId, current === undefined ? null : { owner, pid: process.pid, alive: !current.isDead }];
        }),
      );
    },

    queue: createMemoryQueue({ memory, now: () => clock?.now() ?? Date.now(), assertOpen }),
    limits: createMemoryLimits(memory.limits, () => clock?.monotonic() ?? performance.now()),
    budgets: createMemoryBudgets({
      ledger: memory.budgets,
      isOwner: (owner, rootId) => isRegistered(memory, owner) && memory.trees.get(rootId)?.owner === owner.id,
      now: () => clock?.now() ?? Date.now(),
      assertOpen,
    }),
    // Facts and orders are not told apart: a call too many costs nothing here.
    watch(changed) {
      assertOpen();
      const watcher = () => changed();
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    async close() {
      isClosed = true;
      watchers.clear();
      memory.stores.delete(self);
      for (const id of opened) memory.owners.delete(id);
    },
  };
}
