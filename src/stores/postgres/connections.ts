// The connections of a store: a pool for reads and transactions. A call is repeated while the server is busy or the connection is lost, with
// increasing pauses, until it gives up.
import { setTimeout as sleep } from 'node:timers/promises';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { isRetinueError, RetinueError } from '../../contract/error.ts';
import type { Crash } from '../../ports/crash.ts';
import { BoundClient } from './bound-client.ts';
import { createClientConfig } from './client-config.ts';
import { createClosedError, isBusy, isConnectionLoss, isKeyConflict, toStoreError } from './errors.ts';
import type { Timing } from './options.ts';
import type { Tables } from './tables.ts';
import { createTransaction, type Query, type Transaction } from './transaction.ts';
import type { DatabaseAddress } from './url.ts';

export interface Connections {
  address: DatabaseAddress;
  /** The quoted name of the schema, for SQL. */
  schema: string;
  schemaName: string;
  /** Runs in the pool, in the schema, without retries. */
  kysely: Kysely<Tables>;
  /** Repeats a query that only reads, or that changes nothing when repeated. Rejects with the errors of the port. */
  retry<T>(query: () => Promise<T>): Promise<T>;
  /** Runs one statement outside a transaction. It may be repeated. */
  query<Row>(query: Query): Promise<Row[]>;
  /** Runs SQL of a library: one or several statements, with what the client returns for them. It may be repeated. */
  execute(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  /**
   * Runs `body` in a transaction. It may be run again from the start, also if an earlier transaction was committed and only its answer was lost: then
   * `mayBeCommitted` is true.
   */
  transact<T>(body: (transaction: Transaction, mayBeCommitted: boolean) => Promise<T>): Promise<T>;
  /** A connection outside the pool, without limits on its statements. The caller ends it. */
  connectAlone(options?: { isLimited: boolean }): Promise<pg.Client>;
  isClosed(): boolean;
  /** Waits for calls that are under way, at most `graceMs`, and ends all connections. */
  close(graceMs: number): Promise<void>;
}

export interface ConnectionOptions {
  address: DatabaseAddress;
  schema: string;
  poolSize: number;
  timing: Timing;
  env: Record<string, string | undefined>;
  crash?: Crash | undefined;
}

/** How long the connections of a process that does nothing stay open. */
const idleMs = 30_000;

export function createConnections({ address, schema, poolSize, timing, env, crash }: ConnectionOptions): Connections {
  const config = createClientConfig(address, timing, env);
  const Client = address.needsChannelBinding ? BoundClient : pg.Client;
  const pool = new pg.Pool({ ...config, Client, max: poolSize, idleTimeoutMillis: idleMs, allowExitOnIdle: true });
  // A lost connection shows at its next use. Without a listener the event would end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const running = new Set<Promise<unknown>>();
  let isClosed = false;

  function track<T>(work: Promise<T>): Promise<T> {
    const settled = work.catch(() => {}).finally(() => running.delete(settled));
    running.add(settled);
    return work;
  }

  /** `attempt` says whether its failure leaves open what it did; then the search for the answer may take longer. */
  async function repeat<T>(attempt: (mayBeCommitted: boolean) => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    let mayBeCommitted = false;
    for (let failures = 0; ; failures++) {
      if (isClosed) throw createClosedError();
      try {
        return await attempt(mayBeCommitted);
      } catch (error) {
        if (error instanceof LostCommit) mayBeCommitted = true;
        const cause = error instanceof LostCommit ? error.cause : error;
        if (isClosed) throw createClosedError();
        const limit = mayBeCommitted ? timing.unknown : timing.giveUp;
        const isOver = performance.now() - startedAt >= limit;
        if (!isTransient(cause) || isOver) throw mayBeCommitted ? createUnknownError(cause, address) : toStoreError(cause, address);
        await sleep(backoffMs(failures));
      }
    }
  }

  async function runTransaction<T>(body: (transaction: Transaction) => Promise<T>): Promise<T> {
    const client = await pool.connect();
    const transaction = createTransaction(client);
    let isBroken = true;
    try {
      const result = await body(transaction);
      crash?.('before commit');
      try {
        await transaction.commit();
      } catch (error) {
        if (isConnectionLoss(error)) throw new LostCommit(error);
        throw error;
      }
      crash?.('after commit');
      isBroken = false;
      return result;
    } catch (error) {
      isBroken = error instanceof LostCommit || isConnectionLoss(error) || !(await transaction.rollback());
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  /** The SQL may contain a transaction, which must not stay open if it fails. */
  async function execute(text: string, values: unknown[] | undefined): Promise<{ rows: unknown[] }> {
    const client = await pool.connect();
    let isBroken = false;
    try {
      return (await client.query(text, values)) as { rows: unknown[] };
    } catch (error) {
      isBroken = await client.query('ROLLBACK').then(
        () => false,
        () => true,
      );
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  return {
    address,
    schema: pg.escapeIdentifier(schema),
    schemaName: schema,
    kysely: kysely.withSchema(schema),
    retry: (query) => track(repeat(query)),
    query: <Row>(query: Query) => track(repeat(async () => (await pool.query(query as pg.QueryConfig)).rows as Row[])),
    execute: (text, values) => track(repeat(() => execute(text, values))),
    transact: (body) => track(repeat((mayBeCommitted) => runTransaction((transaction) => body(transaction, mayBeCommitted)))),
    async connectAlone({ isLimited } = { isLimited: false }) {
      const { statement_timeout, lock_timeout, query_timeout, ...unlimited } = config;
      const client = new Client(isLimited ? { ...config, query_timeout: timing.connect } : unlimited);
      client.on('error', () => {});
      try {
        await client.connect();
        return client;
      } catch (error) {
        void client.end().catch(() => {});
        throw error;
      }
    },
    isClosed: () => isClosed,
    async close(graceMs) {
      if (isClosed) return;
      isClosed = true;
      await waitAtMost(Promise.all(running), graceMs);
      // Ends idle connections at once. One that is still in use is ended when its call gives up.
      await waitAtMost(pool.end(), graceMs);
    },
  };
}

/** The connection was lost after the commit was sent and before its answer. */
class LostCommit extends Error {
  constructor(cause: unknown) {
    super('the answer to a commit was lost', { cause });
  }
}

function isTransient(error: unknown): boolean {
  if (isRetinueError(error)) return false;
  return isConnectionLoss(error) || isBusy(error) || isKeyConflict(error);
}

function createUnknownError(cause: unknown, address: DatabaseAddress): RetinueError {
  const { message } = toStoreError(cause, address);
  return new RetinueError('store_io', `${message} Whether the last change was written is not known.`, { retryable: true, cause });
}

/** Waits for work, at most this long. The timer keeps the process alive meanwhile, which idle connections do not. */
export async function waitAtMost(work: Promise<unknown>, ms: number): Promise<void> {
  const stop = new AbortController();
  const settled = work.then(
    () => {},
    () => {},
  );
  await Promise.race([settled, sleep(ms, undefined, { signal: stop.signal }).catch(() => {})]);
  stop.abort();
}

/** Exponential backoff up to 1 s, with jitter so that processes do not retry in step. */
export function backoffMs(failures: number): number {
  return Math.min(1_000, 20 * 1.7 ** failures) * (0.5 + Math.random());
}
