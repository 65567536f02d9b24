// The options of the PostgreSQL store.
import type { Crash } from '../../ports/crash.ts';
import type { OrderAuthenticator } from '../../ports/store.ts';

/** Times in milliseconds. Tests shorten them. */
export interface Timing {
  /** How long to wait for a connection, new or of the pool, in one attempt. */
  connect: number;
  /** How long a call is retried before it rejects with `store_busy` or `store_io`. */
  giveUp: number;
  /** How long an append whose commit got no answer looks for its result before it rejects. */
  unknown: number;
  heartbeat: number;
  /** A lease without a heartbeat for this long may be taken over, even if its process is alive. By the clock of the database. */
  silence: number;
  /** For this long after the start of the server no process counts as silent: none could send a heartbeat while it was down. */
  restartGrace: number;
  /** How often to look for new facts of other processes, while they are watched. */
  factPoll: number;
  /** How often live pieces are sent at most. */
  liveBatch: number;
  /** How often a subscriber to live pieces announces itself. Publishers forget it after two and a half times as long. */
  announce: number;
  /** Limits of the server: a statement, waiting for a lock, and a transaction whose process does nothing. */
  statement: number;
  lock: number;
  idleTransaction: number;
}

export const defaultTiming: Timing = {
  connect: 5_000,
  giveUp: 30_000,
  unknown: 300_000,
  heartbeat: 2_000,
  silence: 10_000,
  restartGrace: 10_000,
  factPoll: 250,
  liveBatch: 50,
  announce: 10_000,
  statement: 30_000,
  lock: 5_000,
  // Shorter than `silence`: a stopped process must not keep its trees locked when they can be taken over.
  idleTransaction: 5_000,
};

export const defaultSchema = 'retinue';
export const defaultPoolSize = 5;

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database?sslmode=verify-full`. */
  url: string;
  /** The schema in the database that holds the tables. Default: `retinue`. */
  schema?: string | undefined;
  /** How many connections this store opens at most, besides one for notifications and heartbeats. */
  poolSize?: number | undefined;
  /** What other processes call this one. Default: the name of the host and the process id. */
  name?: string | undefined;
  /** `existing`: resolve to null instead of creating tables where there are none. */
  access?: 'create' | 'existing' | undefined;
  timing?: Partial<Timing> | undefined;
  /** Signs orders and checks them. Without one the store neither stores nor accepts orders. */
  authenticator?: OrderAuthenticator | undefined;
  /** Accept runs that another program has changed: they are signed as they are. */
  adopt?: boolean | undefined;
  /** Called with what the user should know, for example an order that was not accepted. */
  warn?: ((message: string) => void) | undefined;
  /** Variables such as PGPASSWORD. Default: none. */
  env?: Record<string, string | undefined> | undefined;
  /** Crash points for tests. */
  crash?: Crash | undefined;
}
