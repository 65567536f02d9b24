import { RetinueError } from '../contract/error.ts';
import type { Order } from '../contract/order.ts';
import type { Clock } from '../ports/clock.ts';
import type { Owner, Store } from '../ports/store.ts';
import { appendUnit, createMemory, createTree, isDriving, type Memory } from './memory/data.ts';
import { eraseTree, weighTrees } from './memory/erase.ts';
import { readFacts, readRuns, readTrail, rowOf } from './memory/read.ts';

export interface MemoryStoreOptions {
  /** Wakes the watchers; a microtask where it is absent. */
  clock?: Clock;
  /** What several stores have in common, as if they were processes at one database. Its own where it is absent. */
  memory?: Memory;
}

/** Keeps everything in this process: for tests, and for a library's user who wants nothing on disk. Never fails but when closed. */
export function createMemoryStore({ clock, memory = createMemory() }: MemoryStoreOptions = {}): Store {
  const opened = new Set<string>();
  const watchers = new Set<() => void>();
  const station = { wake };
  let waking = false;
  let closed = false;
  memory.stations.add(station);

  function assertOpen(): void {
    if (closed) throw new RetinueError('store_io', 'The store is closed.');
  }

  function wake(): void {
    if (waking || watchers.size === 0) return;
    waking = true;
    const call = () => {
      waking = false;
      for (const changed of [...watchers]) changed();
    };
    if (clock) clock.defer(call);
    else queueMicrotask(call);
  }

  function wakeOthers(): void {
    if (memory.stations.size > 1) for (const other of memory.stations) if (other !== station) other.wake();
  }

  const isOurs = (owner: Owner, order: Order) => memory.trees.get(order.rootId)?.owner === owner.id;

  return {
    async append(owner, units) {
      assertOpen();
      const driving = isDriving(memory, owner);
      const results = units.map((unit) => (driving ? appendUnit(memory, owner, unit) : { ok: false as const, reason: 'fenced' as const }));
      wakeOthers();
      return results;
    },

    async facts(query) {
      assertOpen();
      return readFacts(memory, query);
    },
    async trail(runId) {
      assertOpen();
      return readTrail(memory, runId);
    },
    async run(runId) {
      assertOpen();
      return rowOf(memory.runs.get(runId));
    },
    async runs(query) {
      assertOpen();
      return readRuns(memory, query);
    },
    async runByKey(parentId, key) {
      assertOpen();
      return rowOf(memory.runs.get(memory.keys.get(JSON.stringify([parentId, key])) ?? ''));
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
      return weighTrees(memory, rootIds);
    },
    async reclaim() {
      assertOpen();
    },

    async order(order) {
      assertOpen();
      if (!memory.orders.has(order.id)) memory.orders.set(order.id, { ...order });
      for (const each of memory.stations) each.wake();
    },
    async orders(owner) {
      assertOpen();
      if (!isDriving(memory, owner)) throw new RetinueError('fenced', 'Another process has taken over what this one drove.');
      return [...memory.orders.values()].filter((order) => isOurs(owner, order)).map((order) => ({ ...order }));
    },
    async dropOrders(owner, ids) {
      assertOpen();
      if (!isDriving(memory, owner)) return;
      for (const id of ids) {
        const order = memory.orders.get(id);
        if (order !== undefined && isOurs(owner, order)) memory.orders.delete(id);
      }
    },

    async open() {
      assertOpen();
      const owner = { id: `memory-${++memory.opened}`, fence: 1 };
      memory.owners.set(owner.id, { fence: 1, lost: false });
      opened.add(owner.id);
      return owner;
    },
    async release(owner) {
      assertOpen();
      memory.owners.delete(owner.id);
      opened.delete(owner.id);
    },
    async claim(owner, rootId) {
      assertOpen();
      if (!isDriving(memory, owner)) throw new RetinueError('fenced', 'Another process has taken over what this one drove.');
      const tree = memory.trees.get(rootId);
      if (tree === undefined) {
        memory.trees.set(rootId, createTree(owner));
        return { ok: true, previous: null };
      }
      if (tree.owner === owner.id) return { ok: true, previous: null };
      const previous = memory.owners.get(tree.owner);
      if (previous !== undefined && !previous.lost) return { ok: false, owner: tree.owner, pid: process.pid };
      if (previous !== undefined) previous.fence++;
      const name = previous === undefined ? null : tree.owner;
      tree.owner = owner.id;
      return { ok: true, previous: name };
    },
    async holders(rootIds) {
      assertOpen();
      return new Map(
        rootIds.map((rootId) => {
          const holder = memory.owners.get(memory.trees.get(rootId)?.owner ?? '');
          return [rootId, holder === undefined ? null : { pid: process.pid, alive: !holder.lost }];
        }),
      );
    },

    watch(changed) {
      assertOpen();
      const watcher = () => changed();
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    async close() {
      closed = true;
      watchers.clear();
      memory.stations.delete(station);
      for (const id of opened) memory.owners.delete(id);
    },
  };
}
