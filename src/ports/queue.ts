// The queue of trees that want a worker. A job only says that a tree wants one; who may write to the tree is decided by its lease (ports/store.ts).
import type { Instant } from '../contract/ids.ts';

/** How a tree waits for a worker. */
export interface JobOptions {
  queue: string;
  /** Higher first; 0 if absent. */
  priority?: number;
  /** No worker takes it before this moment. */
  startAfter?: Instant;
  /** Of the trees of one group, at most as many run at a time as the worker that takes one allows. */
  group?: string;
}

/** A job that a worker has taken. */
export interface Job {
  id: string;
  rootId: string;
  queue: string;
}

export interface TakeOptions {
  queue: string;
  limit: number;
  /** Trees of one group that may run at the same time, over all workers; unlimited if absent. */
  perGroup?: number | undefined;
}

/** The state of a queue. Times are milliseconds. */
export interface QueueState {
  name: string;
  /** Trees that wait, without those that start later. */
  waiting: number;
  /** Trees that start later. */
  delayed: number;
  running: number;
  /** How long the oldest waiting tree has waited; null if none waits. */
  oldestMs: number | null;
}

/** A worker as other processes see it. */
export interface WorkerState {
  id: string;
  host: string;
  pid: number;
  queues: string[];
  trees: number;
  /** When it last sent a heartbeat. */
  seenAt: Instant;
  alive: boolean;
}

/**
 * Jobs are created with their tree (`TreeAppend.job`), and again when an order wakes a tree that no process drives (`Store.order`).
 *
 * Failure contract: as for the store. A worker that dies loses its jobs to others after a while; `findOrphans` finds their trees sooner.
 */
export interface Queue {
  /** Takes waiting jobs: higher priority first, then the oldest. A taken job belongs to the worker until it is completed or put back. */
  take(options: TakeOptions): Promise<Job[]>;
  /** Keeps taken jobs. To be called every few seconds. */
  touch(jobs: Job[]): Promise<void>;
  /** The tree has ended, or it waits for something else than a worker. `again`: a new job in the same transaction, for a tree that goes on later. */
  complete(job: Job, again?: JobOptions): Promise<void>;
  /** Another worker takes it, after `delayMs`. It does not count as an attempt. */
  putBack(job: Job, delayMs: number): Promise<void>;
  /** Jobs of trees whose owner has died or is silent, oldest first. They belong to the caller if it can claim their trees. */
  findOrphans(queue: string, limit: number): Promise<Job[]>;
  /** Those of the trees that have a job: a worker drives them or will take them. */
  findQueued(rootIds: string[]): Promise<Set<string>>;
  /** Calls `added` when a job may be waiting. Spurious calls are allowed; a slow poll backs up missed ones. Returns a function that ends the watch. */
  watch(queue: string, added: () => void): () => void;
  states(): Promise<QueueState[]>;
  workers(): Promise<WorkerState[]>;
}
