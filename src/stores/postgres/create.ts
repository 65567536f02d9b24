// The store port in a PostgreSQL database. The parts: connections.ts has the pool and repeats calls, session.ts the connection for notifications and
// heartbeats, migrations.ts the tables, append*.ts, orders.ts, leases.ts and erase.ts write, queries.ts reads, watch.ts and live.ts notice other processes,
// queue.ts has the trees that want a worker.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../ports/store.ts';
import type { Notes } from '../notes-memory.ts';
import { createAppender } from './append.ts';
import { createBoss } from './boss.ts';
import { createBudgets } from './budgets.ts';
import { backoffMs, type Connections, createConnections } from './connections.ts';
import { createEraser } from './erase.ts';
import { createClosedError, getSqlState, toOpenError } from './errors.ts';
import { findFaults } from './faults.ts';
import { createJobs } from './jobs.ts';
import { createKeyCheck } from './key-check.ts';
import { createLeases } from './leases.ts';
import { createLimits } from './limits.ts';
import { createLive } from './live.ts';
import { createLiveness } from './liveness.ts';
import { migrate } from './migrations.ts';
import { createNotes } from './notes.ts';
import { defaultPoolSize, defaultSchema, defaultTiming, type PostgresOptions, type Timing } from './options.ts';
import { createOrders } from './orders.ts';
import { createOwnerships } from './ownership.ts';
import { createQueries } from './queries.ts';
import { createQueue } from './queue.ts';
import { createRunTags } from './run-tags.ts';
import { createSchedules } from './schedules.ts';
import { searchFacts } from './search.ts';
import { channelName, createSession } from './session.ts';
import { parseDatabaseUrl } from './url.ts';
import { createWatcher } from './watch.ts';

/** How long `close` waits for open statements. */
const closeGraceMs = 2_000;

/** Opens the store in a database that many processes may share. Rejects with `usage`, `store_io`, `store_busy`, `store_corrupt` or `store_newer`. */
export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  const opened = await connect(options);
  return createStore(opened as Opened, options);
}

/** The same, but null if the database has no tables of Retinue. Creates none. */
export async function openExistingPostgresStore(options: PostgresOptions): Promise<Store | null> {
  const opened = await connect({ ...options, access: 'existing' });
  return opened === null ? null : createStore(opened, options);
}

/** Opens the notes in the database of a store. Rejects like `openPostgresStore`; resolves to null if there are no tables and none shall be created. */
export async function openPostgresNotes(options: PostgresOptions): Promise<(Notes & { close(): Promise<void> }) | null> {
  const opened = await connect({ ...options, poolSize: 1 });
  if (opened === null) return null;
  return { ...createNotes(opened.connections), close: () => opened.connections.close(closeGraceMs) };
}

interface Opened {
  connections: Connections;
  schema: string;
  timing: Timing;
}

/** Null if there are no tables and none shall be created. */
async function connect(options: PostgresOptions): Promise<Opened | null> {
  const { schema = defaultSchema, poolSize = defaultPoolSize, access = 'create', env = {}, crash } = options;
  const address = parseDatabaseUrl(options.url, env);
  const timing = { ...defaultTiming, ...options.timing };
  const connections = createConnections({ address, schema, poolSize, timing, env, crash });
  try {
    await connectFirst(connections, timing);
    const exists = await migrate(connections, { create: access === 'create', crash });
    if (exists) return { connections, schema, timing };
    await connections.close(0);
    return null;
  } catch (error) {
    await connections.close(0);
    throw toOpenError((error as { cause?: unknown }).cause ?? error, address);
  }
}

/** A first connection outside the retries: a wrong address or password is reported at once, and only a server that is just starting is waited for. */
async function connectFirst(connections: Connections, { connect: limit }: Timing): Promise<void> {
  const startedAt = performance.now();
  for (let failures = 0; ; failures++) {
    try {
      await (await connections.connectAlone({ isLimited: true })).end();
      return;
    } catch (error) {
      const isStarting = ['57P03', '53300'].includes(getSqlState(error) ?? '');
      if (!isStarting || performance.now() - startedAt > limit) throw error;
      await sleep(backoffMs(failures));
    }
  }
}

function createStore({ connections, schema, timing }: Opened, options: PostgresOptions): Store {
  const { warn = () => {}, authenticator, adopt = false, name } = options;
  const { schema: s } = connections;
  const wakeChannel = channelName('wake', schema);
  const channels = { live: channelName('live', schema), subscribers: channelName('subscribers', schema) };
  const ownerships = createOwnerships();
  const tags = createRunTags({ connections, authenticator, adopt });
  const assertSameKey = createKeyCheck(connections, { authenticator, adopt });
  const queueChannel = channelName('queue', schema);
  const liveness = createLiveness(timing);
  const boss = createBoss(connections, warn);
  const jobs = createJobs({ connections, boss, queueChannel });
  const append = createAppender({ connections, ownerships, authenticator, jobs });
  const leases = createLeases({ connections, ownerships, tags, jobs, liveness, wakeChannel, name });
  const orders = createOrders({ connections, ownerships, authenticator, wakeChannel, jobs, warn });
  const eraser = createEraser(connections, { tags, isAnyAlive: leases.isAnyAlive });
  const queries = createQueries(connections);
  const session = createSession(connections);
  const watcher = createWatcher({ session, leases, ownerships, s, timing, wakeChannel });
  const live = createLive({ session, timing, channels, onFacts: watcher.notifyFacts });

  const schedules = createSchedules({ connections, boss, authenticator, warn });
  const queue = createQueue({ connections, boss, jobs, schedules, session, liveness, queueChannel });

  function assertOpen(): void {
    if (connections.isClosed()) throw createClosedError();
  }

  return {
    async append(owner, units) {
      assertOpen();
      const results = await append(owner, units);
      live.announceFacts();
      return results;
    },
    facts: (query) => queries.facts(query),
    cursor: (after) => queries.cursor(after),
    search: (text, searchOptions) => searchFacts(connections, text, searchOptions),
    trail: (runId) => queries.trail(runId),
    run: (runId) => queries.run(runId),
    head: (runId) => tags.readHead(runId),
    runs: (query) => queries.runs(query),
    countRuns: (rootIds) => queries.countRuns(rootIds),
    runByKey: (parentId, key) => queries.runByKey(parentId, key),
    blob: (hash) => queries.blob(hash),

    erase: (rootId, at) => eraser.erase(rootId, at),
    weigh: (rootIds) => eraser.weigh(rootIds),
    reclaim: (erased) => eraser.reclaim(erased),
    size: () => eraser.size(),
    findFaults: () => findFaults(connections, authenticator),

    async order(order) {
      await assertSameKey();
      await orders.add(order);
    },
    orders: (owner) => orders.list(owner),
    dropOrders: (owner, ids) => orders.drop(owner, ids),

    async open(queues = []) {
      assertOpen();
      await assertSameKey();
      if (queues.length > 0) boss.enableMaintenance();
      const owner = await leases.open(queues);
      await watcher.start();
      live.startPublishing();
      return owner;
    },
    release: (owner) => leases.release(owner),
    async releaseTree(owner, rootId) {
      assertOpen();
      await leases.releaseTree(owner, rootId);
    },
    claim: (owner, rootId) => leases.claim(owner, rootId),
    async holders(rootIds) {
      assertOpen();
      return leases.findHolders(rootIds);
    },
    budgets: createBudgets(connections),
    limits: createLimits({ connections, session, channel: channelName('limits', schema), authenticator }),
    watch(changed, what = 'all') {
      assertOpen();
      return watcher.add(changed, what);
    },
    publish: (delta) => live.publish(delta),
    hasSubscribers: () => live.hasSubscribers(),
    subscribe(listener) {
      assertOpen();
      return live.subscribe(listener);
    },

    queue,

    async close() {
      if (connections.isClosed()) return;
      await boss.close();
      watcher.close();
      live.close();
      const released = Promise.all(leases.ids().map((id) => leases.release({ id }).catch(() => {})));
      await connections.close(closeGraceMs);
      await Promise.all([released, session.close(closeGraceMs)]);
    },
  };
}
