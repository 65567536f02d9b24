// The queue port in memory, for tests and simulations of several workers.
import { RetinueError } from '../../contract/error.ts';
import type { Job, Queue, QueuedTree, QueueState, WorkerState } from '../../ports/queue.ts';
import { addJob, type JobRecord, type MemoryData } from './data.ts';

export interface MemoryQueueDeps {
  memory: MemoryData;
  /** Milliseconds since the epoch. */
  now(): number;
  assertOpen(): void;
}

/** A taken job that its worker does not touch for this long is given to another one. */
const takenMs = 60_000;

export function createMemoryQueue({ memory, now, assertOpen }: MemoryQueueDeps): Queue {
  const isTaken = (job: JobRecord) => job.takenUntil > now();
  const isDue = (job: JobRecord) => !isTaken(job) && job.startAfter <= now();

  function countRunning(queue: string, group: string): number {
    return memory.jobs.values().reduce((sum, job) => sum + (isTaken(job) && job.queue === queue && job.group === group ? 1 : 0), 0);
  }

  const listQueue = (queue: string) => [...memory.jobs.values()].filter((job) => job.queue === queue);

  return {
    prepare: async () => assertOpen(),
    async take({ queue, limit, perGroup = Number.POSITIVE_INFINITY, perQueue = Number.POSITIVE_INFINITY }) {
      assertOpen();
      const due = listQueue(queue)
        .filter(isDue)
        .sort((a, b) => b.priority - a.priority || a.n - b.n);
      const room = Math.min(limit, perQueue - listQueue(queue).filter(isTaken).length);
      const taken: JobRecord[] = [];
      for (const job of due) {
        if (taken.length >= room) break;
        if (job.group !== null && countRunning(queue, job.group) >= perGroup) continue;
        job.takenUntil = now() + takenMs;
        taken.push(job);
      }
      return taken.map(recordToJob);
    },
    async touch(jobs) {
      assertOpen();
      for (const { id } of jobs) {
        const record = memory.jobs.get(id);
        if (record) record.takenUntil = now() + takenMs;
      }
    },
    async complete(job, again) {
      assertOpen();
      if (!('rootId' in job)) throw noSchedules();
      const { rootId } = job;
      for (const each of [...memory.jobs.values()]) if (each.rootId === rootId) memory.jobs.delete(each.id);
      const { job: options } = memory.trees.get(rootId) ?? {};
      const isLive = memory.liveRuns.values().some((run) => run.row?.runId === rootId);
      const hasOrders = memory.orders.values().some((order) => order.rootId === rootId && order.kind !== 'compact');
      // A process that has taken the tree meanwhile may die, and is found by the job.
      const isNeeded = isLive && (hasOrders || memory.trees.get(rootId)?.owner !== null);
      if (!options || !(isNeeded || again)) return;
      const startAfter = isNeeded || !again ? new Date(now()).toISOString() : again.startAfter;
      addJob(memory, rootId, { ...options, startAfter });
    },
    refuse: () => Promise.reject(noSchedules()),
    async putBack(job, delayMs, problem) {
      assertOpen();
      const record = memory.jobs.get(job.id);
      if (record) Object.assign(record, { takenUntil: 0, startAfter: now() + delayMs, problem: problem ?? null });
    },
    async findWaiting(queues) {
      assertOpen();
      return new Set(queues.filter((queue) => listQueue(queue).some(isDue)));
    },
    async findOrphans(queues, limit) {
      assertOpen();
      const orphans = queues.flatMap((queue) => listQueue(queue).sort((a, b) => a.n - b.n)).filter((job) => isOrphan(memory, job.rootId));
      return orphans.slice(0, limit).map(recordToJob);
    },
    async findTrees(rootIds) {
      assertOpen();
      const withJob = new Set(memory.jobs.values().map((job) => job.rootId));
      const waking = memory.orders.values().filter(({ kind }) => kind !== 'compact');
      const withOrders = new Set(waking.map((order) => order.rootId));
      return new Map(
        rootIds.flatMap((rootId): [string, QueuedTree][] => {
          const queue = memory.trees.get(rootId)?.job?.queue;
          return queue === undefined ? [] : [[rootId, { queue, hasJob: withJob.has(rootId), hasOrders: withOrders.has(rootId) }]];
        }),
      );
    },
    async isOf(rootId) {
      assertOpen();
      return memory.trees.get(rootId)?.job != null;
    },
    watch(queue, added) {
      assertOpen();
      const watcher = { queue, added };
      memory.queueWatchers.add(watcher);
      return () => void memory.queueWatchers.delete(watcher);
    },
    async states() {
      assertOpen();
      const names = [...new Set(memory.jobs.values().map((job) => job.queue))].sort();
      const live = new Set(memory.liveRuns.values().map((run) => run.row?.runId));
      return names.map((name) => {
        const jobs = listQueue(name).filter(({ rootId }) => live.has(rootId));
        return describeQueue(name, jobs, now());
      });
    },
    async workers() {
      assertOpen();
      return [...memory.owners].flatMap(([id, { isDead, queues }]): WorkerState[] => {
        if (queues.length === 0) return [];
        const trees = memory.trees.values().reduce((sum, tree) => sum + (tree.owner === id ? 1 : 0), 0);
        return [{ id, host: 'memory', pid: process.pid, queues, trees, seenAt: new Date(now()).toISOString(), alive: !isDead }];
      });
    },
    putSchedule: () => Promise.reject(noSchedules()),
    schedules: async () => [],
    removeSchedule: async () => false,
  };
}

function noSchedules(): RetinueError {
  return new RetinueError('usage', 'schedules need a PostgreSQL database');
}

/** Whether the tree names an owner that is gone. */
function isOrphan(memory: MemoryData, rootId: string): boolean {
  const owner = memory.trees.get(rootId)?.owner ?? null;
  return owner !== null && memory.owners.get(owner)?.isDead !== false;
}

function recordToJob({ id, rootId, queue }: JobRecord): Job {
  return { id, rootId, queue };
}

function describeQueue(name: string, jobs: JobRecord[], now: number): QueueState {
  const open = jobs.filter((job) => job.takenUntil <= now);
  const waiting = open.filter((job) => job.startAfter <= now);
  return {
    name,
    waiting: waiting.length,
    delayed: open.length - waiting.length,
    running: jobs.length - open.length,
    oldestMs: waiting.length === 0 ? null : 0,
    failed: 0,
    problems: jobs.flatMap(({ rootId, problem }) => (problem === null ? [] : [{ rootId, problem }])),
  };
}
