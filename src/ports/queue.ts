// The queue of trees that want a worker. A job only says that a tree wants one; who may write to the tree is decided by its lease (ports/store.ts).
import type { Instant } from '../contract/ids.ts';
import type { QueueState, WorkerState } from '../contract/queue.ts';

export type { QueueState, WorkerState } from '../contract/queue.ts';

/** How a tree waits for a worker. */
export interface JobOptions {
  queue: string;
  /** Higher first; 0 if absent. */
  priority?: number;
  /** No worker takes it before this moment, by the clock of this process. */
  startAfter?: Instant;
  /** Of the trees of one group, at most as many run at a time as the worker that takes one allows. */
  group?: string;
}

/** A job that a worker has taken: a tree to drive. */
export interface Job {
  id: string;
  rootId: string;
  queue: string;
}

/** A tree that was queued once. */
export interface QueuedTree {
  queue: string;
  /** A worker drives it or will take it, maybe not before some time. */
  hasJob: boolean;
  /** Open orders that wake it. */
  hasOrders: boolean;
}

/** A brief that is put into a queue again and again. */
export interface Schedule {
  /** Unique in the database. */
  name: string;
  /** Five fields, as cron has them. */
  cron: string;
  /** An IANA time zone, such as `Europe/Berlin`. */
  timezone: string;
  queue: string;
  priority: number;
  group: string | null;
  /** The dialect of its trees; null for the one of the worker. */
  dialect: string | null;
  brief: unknown;
}

/** A schedule as it is stored. `next`: when it is due; null if it is never again. */
export interface StoredSchedule extends Schedule {
  next: Instant | null;
  /** Why its last run could not be queued; null if it could. */
  problem: { at: Instant; message: string } | null;
}

/** A job that a worker has taken: a schedule is due. Each has an id of its own, so that its tree can be created once. */
export interface DueSchedule {
  id: string;
  queue: string;
  schedule: Schedule;
}

export interface TakeOptions {
  queue: string;
  limit: number;
  /** Trees of one group that may run at the same time, over all workers; unlimited if absent. */
  perGroup?: number | undefined;
  /** Trees of the queue that may run at the same time, over all workers; unlimited if absent. */
  perQueue?: number | undefined;
}

/**
 * Jobs are created with their tree (`TreeAppend.job`), and again when an order wakes a tree that no process drives (`Store.order`). An order also brings
 * the delayed job of a tree that has started forward. The first start of a tree stays where it is. A compaction wakes nothing: it waits for the next turn.
 *
 * Failure contract: as for the store. A worker that dies loses its jobs to others after a while; `findOrphans` finds their trees sooner.
 */
export interface Queue {
  /** Makes queues usable by this process. A worker calls it before it takes anything. Rejects with `usage` for names or rights that do not work. */
  prepare(queues: string[]): Promise<void>;
  /**
   * Takes waiting jobs: those of higher priority, then the oldest, in any order. A taken job belongs to the worker until it is completed or put back.
   * Jobs of schedules that were removed or replaced are dropped.
   */
  take(options: TakeOptions): Promise<(Job | DueSchedule)[]>;
  /** Keeps taken jobs. To be called every few seconds. */
  touch(jobs: Job[]): Promise<void>;
  /**
   * The tree has ended, or it does not wait for a worker; call it after the tree was released. `again`: a new job in the same
   * transaction, for a tree that continues later, with the queue, priority and group of the last one. A tree with open orders that wake it
   * gets a new job at once, and so does one that another process has claimed meanwhile.
   */
  complete(job: Job | DueSchedule, again?: { startAfter: Instant }): Promise<void>;
  /** Leaves out the run of a schedule that cannot be queued. The problem stays with the schedule until a run of it is completed. */
  refuse(due: DueSchedule, problem: string): Promise<void>;
  /** Another worker takes it, after `delayMs`. It does not count as an attempt. `problem`: why this one could not drive it. No effect if the tree has another job by now. */
  putBack(job: Job, delayMs: number, problem?: string): Promise<void>;
  /** Those of the queues that have a job which may be taken now. Cheaper than to take from each. */
  findWaiting(queues: string[]): Promise<Set<string>>;
  /** Jobs of trees whose owner has died or is silent: those of the first queue first, then the oldest. They belong to the caller if it can claim their trees. */
  findOrphans(queues: string[], limit: number): Promise<Job[]>;
  /** Those of the trees that were queued once. */
  findTrees(rootIds: string[]): Promise<Map<string, QueuedTree>>;
  /** Whether the tree was queued once, so that an order gives it a worker again. */
  isOf(rootId: string): Promise<boolean>;
  /** Calls `added` when a job may be waiting. Spurious calls are allowed; a slow poll backs up missed ones. Returns a function that ends the watch. */
  watch(queue: string, added: () => void): () => void;
  states(): Promise<QueueState[]>;
  workers(): Promise<WorkerState[]>;
  /** Adds a schedule, or replaces the one of this name. Rejects with `usage` for times or a time zone that do not exist. */
  putSchedule(schedule: Schedule): Promise<void>;
  /** By name. Those that were not made with the key of this database are left out. */
  schedules(): Promise<StoredSchedule[]>;
  /** False if there is none. */
  removeSchedule(name: string): Promise<boolean>;
}
