// Copies the write-ahead log into the database on a worker thread: on the main thread, copying 4 MB would block the event loop for about 30 ms.
// The thread starts after the first megabytes are written, so short commands never start one.
import { Worker } from 'node:worker_threads';
import { existingFileUrl } from './connect.ts';

/** Bytes written between two checkpoints. The rest is copied when the store closes, in about 40 ms at most. */
const bytesPerPass = 8_000_000;
/** A log longer than this is restarted. */
const longLogPages = 4_000;
/** Warn if a checkpoint leaves more than this. */
const warnPages = 16_000;
const closeTimeoutMs = 2_000;

/*
 * A passive checkpoint blocks no connection but skips what is written in the meantime, so under steady load the log would never restart. The second
 * one makes the rest short, and `RESTART` then takes the write lock for what remains.
 */
const source = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { DatabaseSync } = require('node:sqlite');
  const { url, longLogPages, shared } = workerData;
  const db = new DatabaseSync(new URL(url), { timeout: 10 });
  const pass = (mode) => db.prepare('PRAGMA wal_checkpoint(' + mode + ')').get();
  parentPort.on('message', (last) => {
    let left = 0;
    try {
      let state = pass('PASSIVE');
      if (state.log > longLogPages) {
        pass('PASSIVE');
        state = pass('RESTART');
      }
      left = state.log - state.checkpointed;
    } catch {}
    Atomics.store(shared, 1, left);
    Atomics.store(shared, 0, 0);
    if (last) {
      db.close();
      parentPort.close();
    }
  });
`;

export interface Checkpointer {
  /** Starts a checkpoint once enough has been written. */
  recordWrite(bytes: number): void;
  close(): Promise<void>;
}

export function createCheckpointer(path: string, warn: (message: string) => void): Checkpointer {
  // [0]: whether a checkpoint is running, [1]: the pages that the last one left. Shared memory, because messages wait for the event loop.
  const shared = new Int32Array(new SharedArrayBuffer(8));
  let worker: Worker | null = null;
  let hasFailed = false;
  let bytes = 0;

  function startWorker(): Worker {
    const workerData = { url: existingFileUrl(path).href, longLogPages, shared };
    const started = new Worker(source, { eval: true, workerData, resourceLimits: { maxOldGenerationSizeMb: 16 } });
    started.unref();
    // Without the thread SQLite's auto-checkpoint copies the log (see connect.ts).
    started.on('error', () => {
      hasFailed = true;
    });
    return started;
  }

  return {
    recordWrite(more) {
      bytes += more;
      if (bytes < bytesPerPass || hasFailed || Atomics.load(shared, 0) === 1) return;
      if (Atomics.load(shared, 1) > warnPages) {
        warn(`The write-ahead log of ${path} keeps growing, because a process has an old snapshot of the database open.`);
      }
      bytes = 0;
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
