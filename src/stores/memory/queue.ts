// The queue port in memory, for tests and simulations of several workers.
import type { Job, Queue, QueueState, WorkerState } from '../../ports/queue.ts';
import { addJob, type JobRecord, type MemoryData } from './data.ts';

export interface MemoryQueueDeps {
  memory: MemoryData;
  /** Milliseconds since the epoch. */
  now(): number;
  assertOpen(): void;
}

export function createMemoryQueue({ memory, now, assertOpen }: MemoryQueueDeps): Queue {
  const isDue = (job: JobRecord) => !job.isTaken && job.startAfter <= now();

  function countRunning(queue: string, group: string): number {
    return memory.jobs.values().reduce((sum, job) => sum + (job.isTaken && job.queue === queue && job.group === group ? 1 : 0), 0);
  }

  const listQueue = (queue: string) => [...memory.jobs.values()].filter((job) => job.queue === queue);

  return {
    async take({ queue, limit, perGroup = Number.POSITIVE_INFINITY }) {
      assertOpen();
      const due = listQueue(queue)
        .filter(isDue)
        .sort((a, b) => b.priority - a.priority || a.n - b.n);
      const taken: JobRecord[] = [];
      for (const job of due) {
        if (taken.length >= limit) break;
        if (job.group !== null && countRunning(queue, job.group) >= perGroup) continue;
        job.isTaken = true;
        taken.push(job);
      }
      return taken.map(recordToJob);
    },
    async touch() {
      assertOpen();
    },
    async complete(job, again) {
      assertOpen();
      memory.jobs.delete(job.id);
      if (again) addJob(memory, job.rootId, again);
    },
    async putBack(job, delayMs) {
      assertOpen();
      const record = memory.jobs.get(job.id);
      if (record) Object.assign(record, { isTaken: false, startAfter: now() + delayMs });
    },
    async findOrphans(queue, limit) {
      assertOpen();
      const orphans = listQueue(queue).filter((job) => job.isTaken && !isHeld(memory, job.rootId));
      return orphans
        .sort((a, b) => a.n - b.n)
        .slice(0, limit)
        .map(recordToJob);
    },
    async findQueued(rootIds) {
      assertOpen();
      const queued = new Set(memory.jobs.values().map((job) => job.rootId));
      return new Set(rootIds.filter((rootId) => queued.has(rootId)));
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
      return names.map((name) => describeQueue(name, listQueue(name), now()));
    },
    async workers() {
      assertOpen();
      return [...memory.owners].flatMap(([id, { isDead, queues }]): WorkerState[] => {
        if (queues.length === 0) return [];
        const trees = memory.trees.values().reduce((sum, tree) => sum + (tree.owner === id ? 1 : 0), 0);
        return [{ id, host: 'memory', pid: process.pid, queues, trees, seenAt: new Date(now()).toISOString(), alive: !isDead }];
      });
    },
  };
}

/** Whether a claim on the tree would be refused. */
function isHeld(memory: MemoryData, rootId: string): boolean {
  const owner = memory.owners.get(memory.trees.get(rootId)?.owner ?? '');
  return owner !== undefined && !owner.isDead;
}

function recordToJob({ id, rootId, queue }: JobRecord): Job {
  return { id, rootId, queue };
}

function describeQueue(name: string, jobs: JobRecord[], now: number): QueueState {
  const open = jobs.filter((job) => !job.isTaken);
  const waiting = open.filter((job) => job.startAfter <= now);
  return {
    name,
    waiting: waiting.length,
    delayed: open.length - waiting.length,
    running: jobs.length - open.length,
    oldestMs: waiting.length === 0 ? null : 0,
  };
}
