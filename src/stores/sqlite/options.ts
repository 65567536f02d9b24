import type { Crash } from '../../ports/crash.ts';

/** Spans of time in milliseconds; tests shorten them. */
export interface Timing {
  /** How long SQLite itself may wait for a lock: the event loop stands still meanwhile. */
  busy: number;
  /** How long a call is tried again before it rejects with `store_busy`. */
  giveUp: number;
  heartbeat: number;
  /** After this long without a heartbeat a lease may be taken over from a living process. */
  silence: number;
  /** How often to look whether another process has written. */
  poll: number;
}

export const defaultTiming: Timing = { busy: 20, giveUp: 30_000, heartbeat: 5_000, silence: 15_000, poll: 250 };

export interface SqliteOptions {
  /** The database file; its directory is made where it is missing. */
  path: string;
  /** `normal` survives the death of the process, `full` the loss of power too. */
  durability?: 'normal' | 'full';
  /**
   * Milliseconds on a clock that all processes of this machine share and nobody sets: heartbeats are dated with it.
   * The default counts from the start of the machine.
   */
  now?: () => number;
  timing?: Partial<Timing>;
  /** Told when the write-ahead log keeps growing because a reader holds an old snapshot. */
  warn?: (message: string) => void;
  /** Told of a database that is new, before it gets its name: `draft` is the file. */
  made?: ((draft: string, path: string) => void) | undefined;
  /** Nothing in production. */
  crash?: Crash | undefined;
}

/** What the parts of a store are told of its circumstances. */
export interface Conditions extends Timing {
  made?: SqliteOptions['made'];
  crash?: Crash | undefined;
}
