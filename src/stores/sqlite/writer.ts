// Runs write transactions, one after another in the order of the calls.
//
// 1. A transaction takes the write lock when it begins and never spans an await.
// 2. A transaction that meets a lock is retried later, and those behind it wait: an append that overtook an earlier one would leave a gap in
//    its run.
import type { DatabaseSync } from 'node:sqlite';
import { createClosedError, isBusy, toStoreError } from './errors.ts';
import type { InternalOptions } from './options.ts';
import { backoffMs } from './retry.ts';

/** How long waiting transactions may run one after the other before the event loop runs. */
const maxSliceMs = 20;

export interface Writer {
  /** Runs `body` inside a transaction. It may be run again from the start, so it must change nothing but the database. */
  write<T>(body: () => T): Promise<T>;
  /** One attempt now, ahead of the queue. Throws SQLite's errors. */
  tryNow<T>(body: () => T): T;
  /** Rejects the transactions that are still waiting. */
  close(): void;
}

interface Job {
  attempt(): void;
  fail(error: unknown): void;
  /** When to stop retrying. */
  deadline: number;
}

export function createWriter(db: DatabaseSync, path: string, timing: InternalOptions): Writer {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const queue: Job[] = [];
  let timer: NodeJS.Timeout | null = null;
  let failedAttempts = 0;
  let isClosed = false;

  function tryNow<T>(body: () => T): T {
    begin.run();
    try {
      const result = body();
      timing.crash?.('before commit');
      commit.run();
      timing.crash?.('after commit');
      return result;
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    }
  }

  function write<T>(body: () => T): Promise<T> {
    if (isClosed) return Promise.reject(createClosedError());
    if (queue.length === 0) {
      try {
        return Promise.resolve(tryNow(body));
      } catch (error) {
        if (!isBusy(error)) return Promise.reject(toStoreError(error, path));
      }
    }
    return new Promise<T>((resolve, reject) => {
      const fail = (error: unknown) => reject(toStoreError(error, path));
      queue.push({ attempt: () => resolve(tryNow(body)), fail, deadline: performance.now() + timing.giveUp });
      timer ??= setTimeout(drain, backoffMs(0));
    });
  }

  /** Works through the queue until it is empty, a lock is met, or the event loop must run. */
  function drain(): void {
    timer = null;
    const sliceEnd = performance.now() + maxSliceMs;
    while (queue.length > 0) {
      const job = queue[0] as Job;
      try {
        job.attempt();
        failedAttempts = 0;
      } catch (error) {
        if (isBusy(error) && performance.now() < job.deadline) {
          timer = setTimeout(drain, backoffMs(++failedAttempts));
          return;
        }
        job.fail(error);
      }
      queue.shift();
      if (queue.length > 0 && performance.now() >= sliceEnd) {
        timer = setTimeout(drain, 0);
        return;
      }
    }
  }

  function close(): void {
    isClosed = true;
    if (timer !== null) clearTimeout(timer);
    for (const job of queue.splice(0)) job.fail(createClosedError());
  }

  return { write, tryNow, close };
}
