import type { ErasedFact, Fact, FactType, StoredFact } from '../contract/fact.ts';
import type { Order } from '../contract/order.ts';
import type { RunRow } from '../contract/run.ts';

/** A process that drives runs. One lease per process: all its trees stand and fall with it. */
export interface Owner {
  id: string;
  /** Raised by whoever takes over; an append with an older number is refused. */
  fence: number;
}

/** A fact with the canonical JSON of its data: what the hash covers and what a store keeps, byte for byte. */
export type WrittenFact = Fact & { text: string };

/** A text that facts point to by its hash. */
export interface StoredBlob {
  hash: string;
  text: string;
}

/**
 * What one tree appends, all or nothing. Facts are numbered and hashed already, in order, per run contiguous.
 * Rows are the folds of those facts. Blobs are content-addressed: writing one again changes nothing. A tree keeps those it was given: its
 * facts point to no others.
 */
export interface TreeAppend {
  rootId: string;
  facts: WrittenFact[];
  rows: RunRow[];
  blobs: StoredBlob[];
  /** Orders that these facts answer. */
  consumed: string[];
}

/**
 * `fenced`: the owner lost its lease, or the tree or run belongs to another. `conflict`: a (run, seq) is there already or leaves a gap, or
 * another run of the same parent has the idempotency key.
 */
export type AppendResult = { ok: true } | { ok: false; reason: 'fenced' | 'conflict' };

/** What became of asking for a tree. `previous`: the owner that lost it; null where nobody held it, or the caller itself. */
export type Claim = { ok: true; previous: string | null } | { ok: false; owner: string; pid: number };

/** What erasing took away: facts with data, and bytes of these and of texts that only they pointed to. `live`: a run has not ended. */
export type EraseResult = { ok: true; facts: number; bytes: number } | { ok: false; reason: 'live' | 'unknown' };

export interface FactQuery {
  runId?: string;
  /** All runs of a tree. */
  rootId?: string;
  types?: FactType[];
  /** A position; facts after it. */
  after?: string;
  limit?: number;
}

export interface RunQuery {
  rootId?: string;
  parentId?: string;
  live?: boolean;
  /** The beginning of an id. */
  prefix?: string;
  /** Runs without a parent. */
  roots?: boolean;
  /** By creation; newest first where it is absent. */
  order?: 'newest' | 'oldest';
  limit?: number;
}

/**
 * Facts, rows, blobs, orders and leases. Several processes may share one.
 *
 * Failure contract: every method rejects with a RetinueError: `store_busy` (retryable; the adapter has itself retried up to
 * 30 s), `store_io` (retryable where room or rights may come back), `store_corrupt`, `store_newer`. Expected refusals (fenced,
 * conflict, a tree held by a living owner) are values. After a rejection of `append` none of the batch's units is there.
 * No method blocks the event loop for more than some 25 ms, but for `erase` and `reclaim`, which are for commands that do nothing else.
 */
export interface Store {
  /**
   * One transaction for all units, but unit by unit: one that is refused leaves the others in. Durable when it resolves.
   * A tree that is not there yet becomes the owner's.
   */
  append(owner: Owner, units: TreeAppend[]): Promise<AppendResult[]>;

  /** Without those whose data was erased. */
  facts(query: FactQuery): Promise<StoredFact[]>;
  /** All facts of a run in order, and of erased ones what is left. */
  trail(runId: string): Promise<(StoredFact | ErasedFact)[]>;
  run(runId: string): Promise<RunRow | null>;
  runs(query: RunQuery): Promise<RunRow[]>;
  /** The run that the same parent (null: roots) created with this key. */
  runByKey(parentId: string | null, key: string): Promise<RunRow | null>;
  blob(hash: string): Promise<string | null>;

  /**
   * Takes the data of all facts of an ended tree away for good, and its orders, labels, idempotency keys and the texts (blobs) that no other
   * tree was given; numbers, moments, types and hashes stay, and rows say `erasedAt`. All or nothing. A tree that was erased before: nothing.
   */
  erase(rootId: string, at: string): Promise<EraseResult>;
  /** What erasing all these trees would take away. */
  weigh(rootIds: string[]): Promise<{ facts: number; bytes: number }>;
  /** Gives the room of what was erased back to the system, as far as that disturbs no other process. */
  reclaim(): Promise<void>;

  /** Durable when it resolves; the owner of the tree is then woken. */
  order(order: Order): Promise<void>;
  /** Orders not yet consumed, of the trees of this owner, oldest first. Rejects with `fenced` when its lease is lost. */
  orders(owner: Owner): Promise<Order[]>;
  /** Takes orders away whose run has ended, without a fact. */
  dropOrders(owner: Owner, ids: string[]): Promise<void>;

  /** Registers this process; starts its heartbeat. */
  open(): Promise<Owner>;
  /** Ends the lease; its trees have no owner then. */
  release(owner: Owner): Promise<void>;
  /**
   * Takes a tree that has no owner, a dead one or one silent for 15 s; the previous owner is fenced. A new tree is taken as well.
   * Rejects with `fenced` when the caller itself has lost its lease.
   */
  claim(owner: Owner, rootId: string): Promise<Claim>;
  /** Trees with live runs and whether the process that owns them is living. */
  holders(rootIds: string[]): Promise<Map<string, { pid: number; alive: boolean } | null>>;

  /**
   * Calls `changed` after another process may have written facts or given orders; spurious calls are allowed, lost ones are not
   * (a look every 250 ms stands behind the wake-up). The returned function ends it. `changed` must not throw.
   */
  watch(changed: () => void): () => void;

  /** Ends everything the store keeps open. Other calls reject afterwards. */
  close(): Promise<void>;
}
