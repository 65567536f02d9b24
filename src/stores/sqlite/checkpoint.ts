// Copies the write-ahead log into the database on a thread of its own: on the event loop's thread 4 MB of log would stop
// everything for some 30 ms. The thread starts with the first megabytes written, so short commands never have one.
import { Worker } from 'node:worker_threads';
import { existing } from './connect.ts';

/** This much written is worth a checkpoint. What is left at the end is copied while the store closes: some 40 ms at most. */
const bytesPerPass = 8_000_000;
/** A log longer than this should begin anew. */
const longLogPages = 4_000;
/** A pass that has to leave this much is worth a warning. */
const alarmPages = 16_000;
const closeMs = 2_000;

/*
 * A passive pass disturbs nobody but leaves what was written meanwhile, so under steady load the log would never begin anew.
 * The second pass makes that rest short, and `RESTART` takes the write lock for what then remains.
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
  /** Tells how much was written; a pass begins when it is enough. */
  wrote(bytes: number): void;
  close(): Promise<void>;
}

export function createCheckpointer(path: string, warn: (message: string) => void): Checkpointer {
  // Whether a pass is under way, and what the last one left. Shared rather than sent: messages wait for the event loop.
  const shared = new Int32Array(new SharedArrayBuffer(8));
  let worker: Worker | null = null;
  let broken = false;
  let bytes = 0;

  function start(): Worker {
    const workerData = { url: existing(path).href, longLogPages, shared };
    const started = new Worker(source, { eval: true, workerData, resourceLimits: { maxOldGenerationSizeMb: 16 } });
    started.unref();
    // Without the thread the commits copy the log themselves, at the backstop that connect.ts sets.
    started.on('error', () => {
      broken = true;
    });
    return started;
  }

  return {
    wrote(more) {
      bytes += more;
      if (bytes < bytesPerPass || broken || Atomics.load(shared, 0) === 1) return;
      if (Atomics.load(shared, 1) > alarmPages) {
        warn(`The write-ahead log of ${path} keeps growing: some process holds an old snapshot of the database open.`);
      }
      bytes = 0;
      Atomics.store(shared, 0, 1);
      worker ??= start();
      worker.postMessage(false);
    },
    async close() {
      if (worker === null || broken) return;
      const ended = new Promise((resolve) => worker?.once('exit', resolve));
      worker.ref();
      worker.postMessage(true);
      const timer = setTimeout(() => void worker?.terminate(), closeMs);
      await ended;
      clearTimeout(timer);
    },
  };
}
