import type { Order } from '../../contract/order.ts';
import type { Owner, Store, TreeAppend } from '../../ports/store.ts';
import { createAppender } from './append.ts';
import { createCheckpointer } from './checkpoint.ts';
import { connect, placeOf } from './connect.ts';
import { createEraser } from './erase.ts';
import { closedError, storeError } from './errors.ts';
import { createLeases } from './leases.ts';
import { defaultTiming, type SqliteOptions } from './options.ts';
import { createOrders } from './orders.ts';
import { createQueries } from './queries.ts';
import { patiently } from './retry.ts';
import { createKysely, createStatements } from './tables.ts';
import { type Bell, listen, ping } from './wake-socket.ts';
import { createWatch } from './watch.ts';
import { createWriter } from './writer.ts';

/** Milliseconds since the machine started: the same for all its processes, and not moved when somebody sets the clock. */
const sinceBoot = () => Number(process.hrtime.bigint() / 1_000_000n);

/** Opens the store in a file, which several processes may share. Rejects with `store_io`, `store_corrupt` or `store_newer`. */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const { durability = 'normal', now = sinceBoot, warn = () => {} } = options;
  const path = placeOf(options.path);
  const { crash, made } = options;
  const timing = { ...defaultTiming, ...options.timing, crash, made };
  const db = await connect(path, durability, timing);
  const statements = createStatements(db);
  const kysely = createKysely(statements);
  const writer = createWriter(db, path, timing);
  const appender = createAppender(db);
  const leases = createLeases(db, writer, { now, timing });
  const orders = createOrders(db, kysely, writer);
  const eraser = createEraser(db, writer, { isHeld: leases.isHeld, timing });
  const queries = createQueries({ db: kysely, statements, path });
  const watch = createWatch(db, timing.poll);
  const checkpointer = createCheckpointer(path, warn);
  const opened = new Set<string>();
  let bell: Promise<Bell | null> | null = null;
  let closed = false;

  async function read<T>(query: () => Promise<T>): Promise<T> {
    if (closed) throw closedError();
    try {
      return await patiently(query, timing.giveUp);
    } catch (error) {
      throw storeError(error, path);
    }
  }

  async function endBell(): Promise<void> {
    const ending = bell;
    bell = null;
    (await ending)?.close();
  }

  return {
    async append(owner, units) {
      const results = await writer.write(() => appender.apply(owner, units));
      appender.committed(units, results);
      checkpointer.wrote(weigh(units));
      return results;
    },
    facts: (query) => read(() => queries.facts(query)),
    trail: (runId) => read(() => queries.trail(runId)),
    run: (runId) => read(() => queries.run(runId)),
    runs: (query) => read(() => queries.runs(query)),
    runByKey: (parentId, key) => read(() => queries.runByKey(parentId, key)),
    blob: (hash) => read(() => queries.blob(hash)),

    erase: (rootId, at) => eraser.erase(rootId, at),
    weigh: (rootIds) => read(async () => eraser.weigh(rootIds)),
    reclaim: () => read(() => eraser.reclaim()),

    async order(order: Order) {
      const socket = await orders.give(order);
      if (socket === null) return;
      if (socket === (await bell)?.name) watch.ring();
      else await ping(socket);
    },
    orders: (owner: Owner) => read(() => orders.list(owner)),
    dropOrders: (owner, ids) => orders.drop(owner, ids),

    async open() {
      if (closed) throw closedError();
      bell ??= listen(watch.ring);
      const owner = await leases.open((await bell)?.name ?? null);
      opened.add(owner.id);
      return owner;
    },
    async release(owner) {
      await leases.release(owner);
      if (opened.delete(owner.id) && opened.size === 0) await endBell();
    },
    claim: (owner, rootId) => leases.claim(owner, rootId),
    holders: (rootIds) => read(() => orders.holders(rootIds, leases.isHeld)),
    watch(changed) {
      if (closed) throw closedError();
      return watch.add(changed);
    },

    async close() {
      if (closed) return;
      closed = true;
      watch.close();
      writer.close();
      leases.close();
      await endBell();
      crash?.('before checkpoint');
      await checkpointer.close();
      crash?.('after checkpoint');
      db.close();
    },
  };
}

/** About how many bytes the units add to the write-ahead log. */
function weigh(units: TreeAppend[]): number {
  let bytes = 0;
  for (const { facts, rows, blobs } of units) {
    bytes += 500 * rows.length;
    for (const fact of facts) bytes += 500 + fact.text.length;
    for (const blob of blobs) bytes += blob.text.length;
  }
  return bytes;
}
