// Copies the write-ahead log into the database and empties it, on a worker thread: on the main thread, copying 4 MB would block the event loop for
// about 30 ms. The thread starts once the log is long, so short commands never start one.
//
// What counts is the size of the log file, not what was appended: a commit writes whole pages, so many small commits fill the log with far more
// than their content.
import { Worker } from 'node:worker_threads';
import { existingFileUrl } from './connect.ts';
import { getLogBytes } from './file-size.ts';

/** A log of this size is copied and emptied. The rest is copied when the store closes, in about 40 ms at most. */
const longLogBytes = 4_194_304;
/** Warn if the log is longer than this after a checkpoint. */
const warnBytes = 67_108_864;
const closeTimeoutMs = 2_000;
/** Commits between two looks at the size of the log, each of which costs as much as a part of a commit. */
const commitsPerLook = 16;

/*
 * A passive checkpoint blocks no connection but skips pages that are written in the meantime, so under steady load the log would never start anew. The
 * second one makes the rest short, and `TRUNCATE` then takes the write lock for what remains. It gives up at once if a reader needs the log.
 */
const source = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { DatabaseSync } = require('node:sqlite');
  const { url, shared } = workerData;
  const db = new DatabaseSync(new URL(url), { timeout: 10 });
  parentPort.on('message', (last) => {
    try {
      for (const mode of ['PASSIVE', 'PASSIVE', 'TRUNCATE']) db.prepare('PRAGMA wal_checkpoint(' + mode + ')').get();
    } catch {}
    Atomics.store(shared, 0, 0);
    if (last) {
      db.close();
      parentPort.close();
    }
  });
`;

export interface Checkpointer {
  /** Starts a checkpoint if the log has become long. */
  recordCommit(): void;
  close(): Promise<void>;
}

export function createCheckpointer(path: string, warn: (message: string) => void): Checkpointer {
  // Whether a checkpoint is running. Shared memory, because messages wait for the event loop.
  const shared = new Int32Array(new SharedArrayBuffer(4));
  let worker: Worker | null = null;
  let hasFailed = false;
  /** The size that starts the next checkpoint. Grows while a reader prevents the log from being emptied. */
  let nextAtBytes = longLogBytes;
  let commits = 0;

  function startWorker(): Worker {
    const workerData = { url: existingFileUrl(path).href, shared };
    const started = new Worker(source, { eval: true, workerData, resourceLimits: { maxOldGenerationSizeMb: 16 } });
    started.unref();
    // Without the thread SQLite's auto-checkpoint copies the log (see connect.ts).
    started.on('error', () => {
      hasFailed = true;
    });
    return started;
  }

  return {
    recordCommit() {
      if (++commits % commitsPerLook !== 0) return;
      if (hasFailed || Atomics.load(shared, 0) === 1) return;
      const bytes = getLogBytes(path);
      if (bytes < longLogBytes) nextAtBytes = longLogBytes;
      if (bytes < nextAtBytes) return;
      if (bytes > warnBytes)
        warn(`The write-ahead log of ${path} keeps growing, because a process has an old snapshot of the database open.`);
      nextAtBytes = bytes + longLogBytes;
      Atomics.store(shared, 0, 1);
      worker ??= startWorker();
      worker.postMessage(false);
    },
    async close() {
      if (worker === null || hasFailed) return;
      const ended = new Promise((resolve) => worker?.once('exit', resolve));
      worker.ref();
      worker.postMessage(true);
      const timer = setTimeout(() => void worker?.terminate(), closeTimeoutMs);
      await ended;
      clearTimeout(timer);
    },
  };
}
