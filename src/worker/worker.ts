// A worker: takes trees from queues and drives them, a number of them at a time. `worker/` is a front-end like the command line: it sees the API and the
// queue of the store, and gets the rest passed in.
//
//  1. A notification wakes it when a tree is queued; a slow poll finds what was missed and what was delayed.
//  2. It also looks for trees of its queues whose process has died, and takes them over. The lease decides between two workers that find one.
//  3. Stopping hands every tree back: paused at its next step if that comes within the grace time, otherwise cut off there.
import { isRetinueError } from '../contract/error.ts';
import type { Clock } from '../ports/clock.ts';
import type { DueSchedule, Job, Queue } from '../ports/queue.ts';
import { type DriveDeps, describe, driveTree, problemDelayMs, type TreeSession } from './drive-tree.ts';
import type { WorkerLog } from './log.ts';
import { createProblemLimit } from './problem-limit.ts';

export interface WorkerOptions {
  queue: Queue;
  clock: Clock;
  log: WorkerLog;
  /** Where it takes trees from, the most important first. */
  queues: string[];
  /** Trees at a time. */
  concurrency: number;
  /** Trees of one group at a time, over all workers. */
  perGroup?: number | undefined;
  /** Trees of one queue at a time, over all workers. */
  perQueue?: number | undefined;
  /** How long a tree has to reach its next step when the worker stops. */
  graceMs: number;
  openTree(rootId: string): Promise<TreeSession>;
  /** Queues the tree of a schedule, once. */
  enqueueDue(due: DueSchedule): Promise<{ runId: string; isNew: boolean }>;
}

export interface WorkerStatus {
  /** It takes trees, and the last look at the queue succeeded. */
  isReady: boolean;
  isStopping: boolean;
  trees: string[];
}

export interface Worker {
  status(): WorkerStatus;
  /** Takes no more trees and hands back what it drives. Resolves when nothing is left. */
  stop(): Promise<void>;
}

type Work = 'take' | 'take over' | 'keep';

/** How often it looks at the queue without a notification, for dead processes, and how often it keeps its jobs. */
const pollMs = 5_000;
const orphanMs = 3_000;
const touchMs = 15_000;
/** Orphans in one look. Some of them have to wait, and others come after them. */
const maxOrphans = 100;

export function startWorker(options: WorkerOptions): Worker {
  const { queue, clock, log, queues, concurrency, perGroup, perQueue, graceMs, openTree } = options;
  const limit = createProblemLimit(clock, problemDelayMs);
  const deps: DriveDeps = { queue, clock, log, limit, openTree };
  const driving = new Map<string, { job: Job; done: Promise<void> }>();
  const stop = new AbortController();
  const ends: (() => void)[] = [];
  let filling: Promise<void> | null = null;
  let mustFillAgain = false;
  /** What does not work now, by kind of work. */
  const problems = new Map<Work, string>();

  const free = () => (stop.signal.aborted ? 0 : concurrency - driving.size);

  function drive(job: Job, isOrphan: boolean): void {
    if (driving.has(job.rootId)) return;
    const done = driveTree({ job, isOrphan, stop: stop.signal, graceMs }, deps).finally(() => {
      driving.delete(job.rootId);
      fill();
    });
    driving.set(job.rootId, { job, done });
  }

  async function enqueue(due: DueSchedule): Promise<void> {
    try {
      const { runId, isNew } = await options.enqueueDue(due);
      await queue.complete(due);
      log({ event: 'schedule.due', schedule: due.schedule.name, rootId: runId, isNew });
    } catch (error) {
      const { name } = due.schedule;
      log({ event: 'problem', message: `the schedule ${name} could not be queued: ${describe(error)}` });
      // Anything else may pass. Without being completed, the job comes again.
      if (isRetinueError(error) && !error.retryable)
        await queue.refuse(due, error.message).catch((cause: unknown) => log({ event: 'problem', message: describe(cause) }));
    }
  }

  async function takeAll(): Promise<void> {
    if (free() <= 0) return;
    const waiting =
      queues.length === 1 ? queues : await queue.findWaiting(queues).then((found) => queues.filter((name) => found.has(name)));
    for (const name of waiting) {
      const limit = free();
      if (limit <= 0) return;
      for (const job of await queue.take({ queue: name, limit, perGroup, perQueue })) {
        if ('rootId' in job) drive(job, false);
        else void enqueue(job);
      }
    }
  }

  async function takeOrphans(): Promise<void> {
    if (free() <= 0) return;
    for (const job of await queue.findOrphans(queues, maxOrphans)) if (free() > 0 && !limit.isRecent(job.rootId)) drive(job, true);
  }

  /** Reports a problem once, however many kinds of work have it, and that none is left. */
  async function attempt(kind: Work, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      if (problems.delete(kind) && problems.size === 0) log({ event: 'problem', message: 'the queue can be read again' });
    } catch (error) {
      const message = describe(error);
      const isKnown = [...problems.values()].includes(message);
      if (!isKnown && !stop.signal.aborted) log({ event: 'problem', message: `the queue cannot be read: ${message}` });
      problems.set(kind, message);
    }
  }

  /** Takes what waits. A call during another one makes it look again. */
  function fill(): void {
    if (stop.signal.aborted) return;
    if (filling !== null) {
      mustFillAgain = true;
      return;
    }
    mustFillAgain = false;
    filling = attempt('take', takeAll).finally(() => {
      filling = null;
      if (mustFillAgain && free() > 0) fill();
    });
  }

  /** Repeats until the worker stops, `everyMs` after the end of the last time. */
  function repeat(everyMs: number, work: () => Promise<void> | void): void {
    let cancel = () => {};
    const next = () => {
      if (stop.signal.aborted) return;
      cancel = clock.at(clock.monotonic() + everyMs, () => void Promise.resolve(work()).then(next, next));
    };
    next();
    ends.push(() => cancel());
  }

  for (const name of queues) ends.push(queue.watch(name, fill));
  fill();
  repeat(pollMs, fill);
  repeat(orphanMs, () => attempt('take over', takeOrphans));
  // Jobs are kept until their trees are handed back.
  let cancelTouch = () => {};
  const touch = (): void => {
    cancelTouch = clock.at(clock.monotonic() + touchMs, async () => {
      await attempt('keep', () => queue.touch([...driving.values()].map(({ job }) => job)));
      touch();
    });
  };
  touch();

  return {
    status: () => ({ isReady: problems.size === 0 && !stop.signal.aborted, isStopping: stop.signal.aborted, trees: [...driving.keys()] }),
    async stop() {
      log({ event: 'stopping', trees: driving.size });
      stop.abort();
      for (const end of ends) end();
      await filling;
      await Promise.all([...driving.values()].map(({ done }) => done));
      cancelTouch();
      log({ event: 'stopped' });
    },
  };
}
