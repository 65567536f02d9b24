// The store port over a database that is only read: one that another user made, or that may not be written. Works on databases of every version.
// Every method that writes is rejected.
import { RetinueError } from '../../contract/error.ts';
import type { OrderAuthenticator, Store } from '../../ports/store.ts';
import { listBudgets } from './budgets.ts';
import { assertSqliteVersion, resolveDatabasePath, toOpenError } from './connect.ts';
import { createWeigher } from './erase.ts';
import { createClosedError, isCorruption, toStoreError } from './errors.ts';
import { findFaults } from './faults.ts';
import { getLogBytes, measureFiles } from './file-size.ts';
import { createHolderQuery, createLeaseCheck } from './leases.ts';
import { createLiveSubscriber } from './live-subscriber.ts';
import { getUserVersion } from './migrations.ts';
import { defaultTiming, msSinceBoot, type SqliteOptions } from './options.ts';
import { createQueries, type Queries } from './queries.ts';
import { openReadConnection, type ReadConnection } from './read-connection.ts';
import { retryWhileBusy } from './retry.ts';
import { createStatements } from './tables.ts';
import { createPoller } from './watch.ts';

export interface ReaderOptions extends Pick<SqliteOptions, 'path' | 'now' | 'timing'> {
  /** Checks orders for `findFaults`. */
  authenticator?: OrderAuthenticator | undefined;
  /** The user's own database: `findFaults` also checks who wrote its runs. */
  isOwn?: boolean;
}

interface Reading extends Pick<Store, 'holders' | 'findFaults'> {
  connection: ReadConnection;
  queries: Queries;
  weigh(rootIds: string[]): { facts: number; bytes: number };
}

/** Opens an existing database for reading. Rejects with `store_io`, `store_corrupt` or `store_newer`. */
export async function openSqliteReader(options: ReaderOptions): Promise<Store> {
  assertSqliteVersion();
  const path = resolveDatabasePath(options.path);
  const timing = { ...defaultTiming, ...options.timing };
  const isHeld = createLeaseCheck(options.now ?? msSinceBoot, timing);
  let reading: Reading | null = await retryWhileBusy(openReading, timing.giveUp).catch((error: unknown) => {
    throw toOpenError(error, path);
  });
  let isClosed = false;

  const watcher = createPoller(() => describeState(path, reading), timing.poll);
  const subscriber = createLiveSubscriber({ statements: (sql) => getReading().connection.db.prepare(sql), watcher, ownSocket: () => null });

  function openReading(): Reading {
    const connection = openReadConnection(path);
    const statements = createStatements(connection.db);
    return {
      connection,
      queries: createQueries({ statements, path, version: getUserVersion(connection.db) }),
      holders: createHolderQuery(statements, isHeld),
      findFaults: async () => findFaults(connection.db, options.authenticator, { isOwn: options.isOwn ?? false }),
      weigh: (rootIds) => createWeigher(connection.db)(rootIds),
    };
  }

  /** Opens the database again if a process has begun to write to it. */
  function getReading(): Reading {
    if (reading?.connection.isOutdated()) closeReading();
    reading ??= openReading();
    return reading;
  }

  function closeReading(): void {
    reading?.connection.close();
    reading = null;
  }

  async function read<T>(query: (reading: Reading) => Promise<T>): Promise<T> {
    if (isClosed) throw createClosedError();
    try {
      return await retryWhileBusy(() => query(getReading()), timing.giveUp);
    } catch (error) {
      // The file was changed while it was read as if it could not be.
      if (isCorruption(error) && reading?.connection.isOutdated()) return read(query);
      throw toStoreError(error, path);
    }
  }

  async function refuse(): Promise<never> {
    if (isClosed) throw createClosedError();
    throw new RetinueError('store_io', `The database ${path} was opened only for reading.`);
  }

  return {
    facts: (query) => read(({ queries }) => queries.facts(query)),
    cursor: (after) => read(({ queries }) => queries.cursor(after)),
    search: (text, options) => read(({ queries }) => queries.search(text, options)),
    trail: (runId) => read(({ queries }) => queries.trail(runId)),
    run: (runId) => read(({ queries }) => queries.run(runId)),
    head: (runId) =>
      read(async ({ queries }) => {
        const last = (await queries.trail(runId)).at(-1);
        return last === undefined ? null : { seq: last.seq, hash: last.hash };
      }),
    runs: (query) => read(({ queries }) => queries.runs(query)),
    countRuns: (rootIds) => read(({ queries }) => queries.countRuns(rootIds)),
    runByKey: (parentId, key) => read(({ queries }) => queries.runByKey(parentId, key)),
    blob: (hash) => read(({ queries }) => queries.blob(hash)),
    weigh: (rootIds) => read(async ({ weigh }) => weigh(rootIds)),
    size: () => read(async () => measureFiles(path)),
    findFaults: () => read((current) => current.findFaults()),
    holders: (rootIds) => read((current) => current.holders(rootIds)),
    ...{ append: refuse, erase: refuse, reclaim: refuse, order: refuse, orders: refuse, dropOrders: refuse },
    limits: { identify: () => null, exchange: refuse, watch: () => () => {} },
    budgets: {
      list: () => read(async ({ connection }) => listBudgets(connection.db, Date.now())),
      ...{ set: refuse, remove: refuse, draw: refuse, openDraws: refuse, settle: refuse },
    },
    ...{ open: refuse, release: refuse, claim: refuse, releaseTree: refuse },
    watch(changed) {
      if (isClosed) throw createClosedError();
      return watcher.add(changed);
    },
    publish() {},
    hasSubscribers: () => false,
    subscribe(listener) {
      if (isClosed) throw createClosedError();
      return subscriber.add(listener);
    },
    async close() {
      isClosed = true;
      subscriber.close();
      watcher.close();
      closeReading();
    },
  };
}

/** Differs after every change of the database. Empty while it cannot be told. */
function describeState(path: string, reading: Reading | null): string {
  try {
    const version = reading?.connection.db.prepare('PRAGMA data_version').get()?.data_version;
    return `${version} ${reading?.connection.isOutdated()} ${getLogBytes(path)} ${measureFiles(path)}`;
  } catch {
    return '';
  }
}
