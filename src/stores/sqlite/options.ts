// The options of the SQLite store.
import type { Crash } from '../../ports/crash.ts';
import type { OrderAuthenticator } from '../../ports/store.ts';

/** Times in milliseconds. Tests shorten them. */
export interface Timing {
  /** How long SQLite itself may wait for a lock. The event loop is blocked meanwhile, so longer waits are retries. */
  busy: number;
  /** How long a call is retried before it rejects with `store_busy`. */
  giveUp: number;
  heartbeat: number;
  /** A lease without a heartbeat for this long may be taken over, even if its process is alive. */
  silence: number;
  /** How often to check whether another process has written. */
  poll: number;
}

export const defaultTiming: Timing = { busy: 1, giveUp: 30_000, heartbeat: 5_000, silence: 15_000, poll: 250 };

/** Milliseconds since the machine started: the same for all processes, and unaffected by changes of the clock. */
export const msSinceBoot = () => Number(process.hrtime.bigint() / 1_000_000n);

export interface SqliteOptions {
  /** The database file. Its directory is created if it does not exist. */
  path: string;
  /** `normal` survives a crash of the process, `full` also a loss of power. */
  durability?: 'normal' | 'full';
  /**
   * Milliseconds on a clock that all processes of this machine share and that is never set. Heartbeats use it.
   * Default: the time since the machine started.
   */
  now?: () => number;
  /** Milliseconds since the epoch, for the periods of budgets. Default: the clock of the machine. */
  wallClock?: () => number;
  timing?: Partial<Timing>;
  /** Signs orders and checks them. Without one the store neither stores nor accepts orders. */
  authenticator?: OrderAuthenticator | undefined;
  /** Accept runs that another program has changed: they are signed as they are. */
  adopt?: boolean | undefined;
  /** Called with what the user should know: an order that was not accepted, or a write-ahead log that keeps growing. */
  warn?: ((message: string) => void) | undefined;
  /** Called with a new database before it gets its name; `draft` is the file. */
  made?: ((draft: string, path: string) => void) | undefined;
  /** Called when the write-ahead log exists, before anything is written to it. */
  logOpened?: ((path: string) => void) | undefined;
  /** Crash points for tests. */
  crash?: Crash | undefined;
}

/** Timing and hooks for the parts of the store. */
export interface InternalOptions extends Timing {
  made?: SqliteOptions['made'];
  logOpened?: SqliteOptions['logOpened'];
  crash?: Crash | undefined;
}
