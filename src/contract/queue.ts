// Queues and workers as other processes see them.
import { z } from 'zod';
import { Instant } from './ids.ts';

/** The state of a queue. */
export const QueueState = z.object({
  name: z.string(),
  /** Trees that wait, without those that start later. */
  waiting: z.int(),
  /** Trees that start later. */
  delayed: z.int(),
  running: z.int(),
  /** How long the oldest waiting tree has waited, in milliseconds; null if none waits. */
  oldestMs: z.int().nullable(),
  /** Trees that failed in the last 24 hours. */
  failed: z.int(),
  /** Why workers put trees back, newest first, at most ten. */
  problems: z.array(z.object({ rootId: z.string(), problem: z.string() })),
});
export type QueueState = z.infer<typeof QueueState>;

/** A worker: a process, whatever it drives. */
export const WorkerState = z.object({
  /** Its name, as `ps` shows it. */
  id: z.string(),
  /** The machine that it runs on. */
  host: z.string(),
  pid: z.int(),
  queues: z.array(z.string()),
  trees: z.int(),
  /** When it last sent a heartbeat. */
  seenAt: Instant,
  alive: z.boolean(),
});
export type WorkerState = z.infer<typeof WorkerState>;

/** How a tree waits for a worker. */
export const JobOptions = z.strictObject({
  queue: z.string().min(1).max(60),
  /** Higher first; 0 if absent. */
  priority: z.int().min(-1_000).max(1_000).optional(),
  /** No worker takes it before this moment. */
  startAfter: Instant.optional(),
  /** Of the trees of one group, at most as many run at a time as the worker that takes one allows. */
  group: z.string().min(1).max(100).optional(),
});
