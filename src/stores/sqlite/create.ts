// The store port in a SQLite file. The parts: connect.ts opens the file, writer.ts runs transactions, append.ts, orders.ts, leases.ts and erase.ts write,
// queries.ts reads, watch.ts and wake-socket.ts notice other processes, checkpoint.ts keeps the write-ahead log short.
import type { Order } from '../../contract/order.ts';
import type { Owner, Store } from '../../ports/store.ts';
import { createAppender } from './append.ts';
import { createBudgets } from './budgets.ts';
import { createCheckpointer } from './checkpoint.ts';
import { connect, resolveDatabasePath } from './connect.ts';
import { createEraser } from './erase.ts';
import { createClosedError, createNoQueueError, toStoreError } from './errors.ts';
import { findFaults } from './faults.ts';
import { measureFiles } from './file-size.ts';
import { createLeases } from './leases.ts';
import { createLimits } from './limits.ts';
import { createPublisher } from './live-relay.ts';
import { createLiveSubscriber } from './live-subscriber.ts';
import { migrations } from './migrations.ts';
import { defaultTiming, msSinceBoot, type SqliteOptions } from './options.ts';
import { createOrders } from './orders.ts';
import { createQueries } from './queries.ts';
import { retryWhileBusy } from './retry.ts';
import { createRunTags, signStoredRuns } from './run-tags.ts';
import { createStatements } from './tables.ts';
import { openWakeSocket, sendWakeUp, type WakeSocket } from './wake-socket.ts';
import { createChangeWatcher } from './watch.ts';
import { createWriter } from './writer.ts';

/** Opens the store in a database file that several processes may share. Rejects with `store_io`, `store_corrupt` or `store_newer`. */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const { durability = 'normal', now = msSinceBoot, warn = () => {}, authenticator, adopt = false } = options;
  const path = resolveDatabasePath(options.path);
  const { crash, made, logOpened } = options;
  const timing = { ...defaultTiming, ...options.timing, crash, made, logOpened };
  const db = await connect(path, { durability, timing, authenticator, warn });
  const statements = createStatements(db);
  const writer = createWriter(db, path, timing);
  const tags = createRunTags(db, authenticator, { adopt });
  if (adopt && authenticator !== undefined) await writer.write(() => signStoredRuns(db, authenticator, 'unfinished'));
  const appender = createAppender(db, tags);
  const leases = createLeases({ db, statements, writer, tags, now, timing });
  const orders = createOrders({ db, writer, tags, authenticator, warn });
  const eraser = createEraser(db, writer, { path, tags, isHeld: leases.isHeld, timing });
  const queries = createQueries({ statements, path, version: migrations.length });
  const watcher = createChangeWatcher(db, timing.poll);
  const publisher = createPublisher();
  const subscriber = createLiveSubscriber({ statements, watcher, ownSocket: () => ownSocketName });
  const checkpointer = createCheckpointer(path, warn);
  const openOwners = new Set<string>();
  let wakeSocket: Promise<WakeSocket | null> | null = null;
  let ownSocketName: string | null = null;
  let isClosed = false;

  async function read<T>(query: () => Promise<T>): Promise<T> {
    if (isClosed) throw createClosedError();
    try {
      return await retryWhileBusy(query, timing.giveUp);
    } catch (error) {
      throw toStoreError(error, path);
    }
  }

  async function closeWakeSocket(): Promise<void> {
    const socket = wakeSocket;
    wakeSocket = null;
    (await socket)?.close();
  }

  return {
    async append(owner, units) {
      if (units.some(({ job }) => job !== undefined)) throw createNoQueueError();
      const results = await writer.write(() => appender.apply(owner, units));
      appender.rememberCommitted(units, results);
      for (const [index, { rootId, consumed }] of units.entries()) if (results[index]?.ok) orders.rememberConsumed(rootId, consumed);
      checkpointer.recordCommit();
      publisher.announce();
      return results;
    },
    facts: (query) => read(() => queries.facts(query)),
    cursor: (after) => read(() => queries.cursor(after)),
    search: (text, options) => read(() => queries.search(text, options)),
    trail: (runId) => read(() => queries.trail(runId)),
    run: (runId) => read(() => queries.run(runId)),
    head: (runId) => read(async () => tags.readHead(runId)),
    runs: (query) => read(() => queries.runs(query)),
    countRuns: (rootIds) => read(() => queries.countRuns(rootIds)),
    runByKey: (parentId, key) => read(() => queries.runByKey(parentId, key)),
    blob: (hash) => read(() => queries.blob(hash)),

    erase: (rootId, at) => eraser.erase(rootId, at),
    weigh: (rootIds) => read(async () => eraser.weigh(rootIds)),
    reclaim: (erased) => read(() => eraser.reclaim(erased)),
    size: () => read(async () => measureFiles(path)),
    findFaults: () => read(async () => findFaults(db, authenticator)),

    async order(order: Order) {
      const socketName = await orders.add(order);
      if (socketName === null) return;
      if (socketName === (await wakeSocket)?.name) watcher.notify();
      else await sendWakeUp(socketName);
    },
    orders: (owner: Owner) => read(() => orders.list(owner)),
    dropOrders: (owner, ids) => orders.drop(owner, ids),

    async open() {
      if (isClosed) throw createClosedError();
      wakeSocket ??= openWakeSocket(watcher.notify, publisher.add);
      ownSocketName = (await wakeSocket)?.name ?? null;
      const owner = await leases.open(ownSocketName);
      openOwners.add(owner.id);
      return owner;
    },
    async release(owner) {
      await leases.release(owner);
      if (openOwners.delete(owner.id) && openOwners.size === 0) await closeWakeSocket();
    },
    async claim(owner, rootId) {
      const claim = await leases.claim(owner, rootId);
      appender.forgetRuns();
      if (claim.ok) orders.rememberConsumed(rootId, tags.listConsumed(rootId));
      return claim;
    },
    releaseTree: (owner, rootId) => leases.releaseTree(owner, rootId),
    holders: (rootIds) => read(() => leases.findHolders(rootIds)),
    limits: createLimits({ db, writer, authenticator, now }),
    budgets: createBudgets({ db, writer, read, now: options.wallClock ?? Date.now }),
    watch(changed) {
      if (isClosed) throw createClosedError();
      return watcher.add(changed);
    },
    publish: publisher.publish,
    hasSubscribers: publisher.hasSubscribers,
    subscribe(listener) {
      if (isClosed) throw createClosedError();
      return subscriber.add(listener);
    },

    async close() {
      if (isClosed) return;
      isClosed = true;
      watcher.close();
      subscriber.close();
      publisher.close();
      writer.close();
      leases.close();
      await closeWakeSocket();
      crash?.('before checkpoint');
      await checkpointer.close();
      crash?.('after checkpoint');
      db.close();
    },
  };
}
