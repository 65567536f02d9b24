import type { Delta } from '../contract/delta.ts';
import type { ErasedFact, Fact, FactType, StoredFact } from '../contract/fact.ts';
import type { Order } from '../contract/order.ts';
import type { RunRow } from '../contract/run.ts';
import type { Budgets } from './budgets.ts';
import type { JobOptions, Queue } from './queue.ts';
import type { SharedLimits } from './shared-limits.ts';

/** A process that drives runs. One heartbeat keeps it alive, but each tree is taken from it separately. */
export interface Owner {
  id: string;
}

/** The process that owns a tree. `alive`: a claim on the tree would be refused. */
export interface Holder {
  owner: string;
  pid: number;
  alive: boolean;
  /** The name of the worker, if it is one. */
  worker?: string;
}

/** A fact with the canonical JSON of its data, which the hash covers and the store keeps byte for byte. */
export type WrittenFact = Fact & { text: string };

/** Text, or bytes for what is not text. */
export type BlobContent = string | Uint8Array;

/** Content that facts refer to by the SHA-256 of its bytes (of its UTF-8 form for text). */
export interface StoredBlob {
  hash: string;
  content: BlobContent;
}

/**
 * What one tree appends, all or nothing. Facts are already numbered and hashed; those of a run are contiguous and in order. Rows are computed
 * from those facts. Blobs are addressed by content, so writing one again changes nothing. Each tree writes every blob that its facts refer to.
 */
export interface TreeAppend {
  rootId: string;
  facts: WrittenFact[];
  rows: RunRow[];
  blobs: StoredBlob[];
  /** Ids of the orders that caused these facts. The tree never gets an order with such an id again. */
  consumed: string[];
  /** For the first unit of a tree: it gets no owner, and a job in the same transaction. Only for stores that have a queue. */
  job?: JobOptions;
}

/**
 * `fenced`: the owner has released its lease, or another process owns the tree. `conflict`: a (run, seq) exists already or leaves a gap, or another
 * run of the same parent has the idempotency key.
 */
export type AppendResult = { ok: true } | { ok: false; reason: 'fenced' | 'conflict' };

/** The result of claiming a tree. `previous`: the owner that lost it; null if it had none or belonged to the caller. */
export type Claim = { ok: true; previous: string | null } | { ok: false; owner: string; pid: number };

/** How many facts lost their data, and how many stored bytes of data and blobs were removed. `live`: a run has not ended. */
export type EraseResult = { ok: true; facts: number; bytes: number } | { ok: false; reason: 'live' | 'unknown' };

/** The last fact of a run. `orders`: a digest of the orders that were consumed with its facts. */
export interface RunHead {
  runId: string;
  seq: number;
  hash: string;
  orders: string;
}

/**
 * Proves who gave an order and who wrote the facts of a run. The store signs an order that it stores and checks one that it reads, so that write access to the data alone
 * cannot give orders or add facts. In a file of one user the key belongs to the user; in a shared database it belongs to the deployment, which also decides who
 * may act as `order.by`.
 */
export interface OrderAuthenticator {
  /** The tag over the whole order. Throws a RetinueError if there is no usable key. */
  sign(order: Order): string;
  /** False without a usable key. */
  isAuthentic(order: Order, tag: string): boolean;
  /** Called for every append. Null if there is no usable key. */
  signRun(head: RunHead): string | null;
  /** False without a usable key. */
  isRunAuthentic(head: RunHead, tag: string): boolean;
  hasKey(): boolean;
  /** A keyed hash of a secret, which names it in the store. Null if there is no usable key. */
  identify(secret: string): string | null;
}

/** Something wrong with stored data that the facts of a run do not show. */
export interface StoreFault {
  where: 'file' | 'schema' | 'trees' | 'rows' | 'orders';
  what: string;
}

export interface FactQuery {
  runId?: string;
  /** All runs of a tree. */
  rootId?: string;
  types?: FactType[];
  /** Only facts after this position. */
  after?: string;
  limit?: number;
}

export interface RunQuery {
  rootId?: string;
  parentId?: string;
  live?: boolean;
  /** Only runs whose id begins with it. */
  prefix?: string;
  /** Only runs without a parent. */
  roots?: boolean;
  /** Only runs created before this one. */
  before?: string;
  /** By creation; newest first if absent. */
  order?: 'newest' | 'oldest';
  limit?: number;
}

export interface RunCount {
  runs: number;
  live: number;
}

export interface SearchOptions {
  limit: number;
  signal?: AbortSignal | undefined;
}

/**
 * Facts, rows, blobs, orders and leases. Several processes may share one store.
 *
 * Failure contract: methods reject only with a RetinueError: `store_busy` (retryable; the adapter has already retried for up to 30 s), `store_io`
 * (retryable if disk space or permissions may come back), `store_corrupt`, `store_newer`. `order` also rejects with `usage` if it cannot be
 * signed. Expected refusals (fenced, conflict, a tree with a living owner) are values. If `append` rejects, none of its units was written, unless a server
 * took the commit and then did not answer for minutes, which the message says. No method blocks the event loop for more than about 25 ms,
 * except `erase` and `reclaim`, which are for commands that do nothing else.
 */
export interface Store {
  /**
   * Writes all units in one transaction, but each is accepted or refused separately. Durable when it resolves. A tree that does not exist yet
   * becomes the owner's. A unit that ends its root also removes all orders that remain for the tree.
   */
  append(owner: Owner, units: TreeAppend[]): Promise<AppendResult[]>;

  /** Facts in the order of the store, without erased ones. */
  facts(query: FactQuery): Promise<StoredFact[]>;
  /** The position of the newest fact, and how many facts at most come after `after`: null if `after` is not a position of this store. */
  cursor(after?: string): Promise<{ newest: string; behind: number | null }>;
  /** Facts whose data contains the text, newest first. ASCII letters match in either case. */
  search(text: string, options: SearchOptions): Promise<StoredFact[]>;
  /** All facts of a run in order, including what remains of erased ones. */
  trail(runId: string): Promise<(StoredFact | ErasedFact)[]>;
  run(runId: string): Promise<RunRow | null>;
  /**
   * The last fact of a run; null if it has none. Rejects with `store_corrupt` if it was not written by the processes of this user. Code that acts on the
   * facts of a run compares them with it.
   */
  head(runId: string): Promise<{ seq: number; hash: string } | null>;
  runs(query: RunQuery): Promise<RunRow[]>;
  /** How many runs these trees have, and how many of them are live. Unknown trees are left out. */
  countRuns(rootIds: string[]): Promise<Map<string, RunCount>>;
  /** The run with this idempotency key under this parent; null for roots. */
  runByKey(parentId: string | null, key: string): Promise<RunRow | null>;
  /** The content as it was written: text as a string, bytes as bytes. */
  blob(hash: string): Promise<BlobContent | null>;

  /**
   * Permanently removes the data of all facts of an ended tree, its orders, labels and idempotency keys, and the blobs that no other tree has.
   * Sequence numbers, times, types and hashes remain, and rows get `erasedAt`. All or nothing. Erasing a tree again removes nothing.
   */
  erase(rootId: string, at: string): Promise<EraseResult>;
  /** What erasing all these trees would remove. */
  weigh(rootIds: string[]): Promise<{ facts: number; bytes: number }>;
  /** Returns the space of `erased` bytes to the system, as far as this does not disturb other processes. */
  reclaim(erased: number): Promise<void>;
  /** The bytes that the store occupies on disk; null if it is not on disk. */
  size(): Promise<number | null>;
  /** Faults of the data as a whole: its schema, rows and trees that do not fit together, orders without a valid signature. */
  findFaults(): Promise<StoreFault[]>;

  /**
   * Signs and stores an order, and wakes the owner of the tree. Durable when it resolves. An order that its tree has had before is not stored
   * again, and neither is one to a tree that has ended.
   * A tree of a queue that has neither an owner nor a job gets a job in the same transaction.
   */
  order(order: Order): Promise<void>;
  /**
   * Unconsumed orders for the trees of this owner, oldest first. Rejects with `fenced` if the owner has released its lease. An order that is not authentic,
   * or that the tree has consumed or dropped before, is never returned: the store reports and drops it.
   */
  orders(owner: Owner): Promise<Order[]>;
  /** Removes orders without a fact, because they have no effect any more. Their trees never get them again. */
  dropOrders(owner: Owner, ids: string[]): Promise<void>;

  /** Registers this process and starts its heartbeat. `queues`: those that it takes trees from, if it is a worker. */
  open(queues?: string[]): Promise<Owner>;
  /** Ends the lease. Its trees then have no owner. */
  release(owner: Owner): Promise<void>;
  /** Gives up one tree, which then has no owner. No effect if the owner does not own it. */
  releaseTree(owner: Owner, rootId: string): Promise<void>;
  /**
   * Takes a tree that is new, or whose owner is missing, dead or silent for 15 s (10 s in PostgreSQL). From then on, appends of the previous owner to this tree are
   * refused; its other trees stay its own. Rejects with `fenced` if the caller has released its lease, and with `store_corrupt` if somebody else
   * changed the facts of the tree.
   */
  claim(owner: Owner, rootId: string): Promise<Claim>;
  /** Null for a tree without an owner. */
  holders(rootIds: string[]): Promise<Map<string, Holder | null>>;

  /**
   * Calls `changed` after another process may have written: with `orders`, orders for the trees of this store, or it may have taken one of them; with
   * `all`, also facts. Watching facts may cost a query every 250 ms. Spurious calls are allowed, missed changes are not: a poll, every 250 ms for
   * facts and at least every 2 s for orders, backs up the wake-up. Returns a function that ends the watch. `changed` must not throw.
   */
  watch(changed: () => void, what?: 'orders' | 'all'): () => void;

  /** Sends a live piece of a stream to the processes that subscribe. It may be dropped. */
  publish(delta: Delta): void;
  /** Whether a process may subscribe to what this one publishes. */
  hasSubscribers(): boolean;
  /** Gets the live pieces that other processes publish, as far as they arrive. Returns a function that ends the subscription. `listener` must not throw. */
  subscribe(listener: (delta: Delta) => void): () => void;

  /** Trees that want a worker; absent if the store has no queue. */
  queue?: Queue;

  /** Budgets that the trees of this store share. */
  budgets: Budgets;

  /** Limits of providers that the processes of this store share. */
  limits: SharedLimits;

  /** Closes everything that the store has open. Later calls reject. */
  close(): Promise<void>;
}
