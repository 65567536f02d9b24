// The one way to write: a transaction begun with the write lock, one after another in the order they were asked for.
// A transaction never spans an await. One that meets a lock is tried again later, and those behind it wait: an append
// that overtook an earlier one would leave a gap in its run.
import type { DatabaseSync } from 'node:sqlite';
import { closedError, isBusy, storeError } from './errors.ts';
import type { Conditions } from './options.ts';
import { pause } from './retry.ts';

export interface Writer {
  /** Runs `body` inside a transaction; it may be run again from the start, so it must change nothing but the database. */
  write<T>(body: () => T): Promise<T>;
  /** One attempt, now, out of turn; throws as SQLite does. */
  once<T>(body: () => T): T;
  /** Rejects what is still waiting. */
  close(): void;
}

interface Job {
  attempt(): void;
  fail(error: unknown): void;
  end: number;
}

export function createWriter(db: DatabaseSync, path: string, timing: Conditions): Writer {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const waiting: Job[] = [];
  let timer: NodeJS.Timeout | null = null;
  let round = 0;
  let closed = false;

  function once<T>(body: () => T): T {
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
    if (closed) return Promise.reject(closedError());
    if (waiting.length === 0) {
      try {
        return Promise.resolve(once(body));
      } catch (error) {
        if (!isBusy(error)) return Promise.reject(storeError(error, path));
      }
    }
    return new Promise<T>((resolve, reject) => {
      const fail = (error: unknown) => reject(storeError(error, path));
      waiting.push({ attempt: () => resolve(once(body)), fail, end: performance.now() + timing.giveUp });
      timer ??= setTimeout(drain, pause(0));
    });
  }

  /** Works through the queue until it is empty, a lock is met, or the event loop should have its turn. */
  function drain(): void {
    timer = null;
    const turn = performance.now() + timing.busy;
    while (waiting.length > 0) {
      const job = waiting[0] as Job;
      try {
        job.attempt();
        round = 0;
      } catch (error) {
        if (isBusy(error) && performance.now() < job.end) {
          timer = setTimeout(drain, pause(++round));
          return;
        }
        job.fail(error);
      }
      waiting.shift();
      if (waiting.length > 0 && performance.now() >= turn) {
        timer = setTimeout(drain, 0);
        return;
      }
    }
  }

  function close(): void {
    closed = true;
    if (timer !== null) clearTimeout(timer);
    for (const job of waiting.splice(0)) job.fail(closedError());
  }

  return { write, once, close };
}
