// The worker of a command: one store and one API, on which it drives trees of any workspace.
import { hostname } from 'node:os';
import { findTreePause } from '../api/tree-pause.ts';
import type { RunningWorker, WorkerRequest } from '../cli/worker-io.ts';
import type { Settings } from '../config/settings.ts';
import { userStateFolder } from '../config/user-folders.ts';
import { RetinueError } from '../contract/error.ts';
import type { Queue } from '../ports/queue.ts';
import type { Store } from '../ports/store.ts';
import { systemClock } from '../system/clock.ts';
import { enqueueDue } from '../worker/enqueue-due.ts';
import { formatEvent, type WorkerEvent } from '../worker/log.ts';
import { startWorker, type Worker } from '../worker/worker.ts';
import type { AssemblyHooks } from './hooks.ts';
import { openApi } from './open-api.ts';
import { openServer } from './open-server.ts';
import { serveHealth } from './worker-health.ts';

export interface WorkDeps {
  settings: Settings;
  env: NodeJS.ProcessEnv;
  /** Writes one line. */
  write(line: string): void;
  hooks: AssemblyHooks | undefined;
}

/** Rejects with `usage` and `store_*`; then nothing is left open. */
export async function work(request: WorkerRequest, { settings, env, write, hooks }: WorkDeps): Promise<RunningWorker> {
  const { db } = settings;
  if (db.kind === 'file') throw new RetinueError('internal', 'a worker needs a PostgreSQL database');
  const log = (event: WorkerEvent) => write(formatEvent(event, new Date().toISOString(), request.json));
  const warn = (message: string) => log({ event: 'problem', message });
  const name = request.name ?? `${hostname()}:${process.pid}`;
  const opened = await openServer({ env, url: db.url, access: 'create', adopt: db.adopt, warn, name, crash: hooks?.crash });
  const wrapped = hooks ? hooks.wrapStore(opened) : opened;
  // What the API owns belongs to this worker.
  const store: Store = { ...wrapped, open: () => wrapped.open(request.queues) };
  const folders = { root: request.workspaceRoot ?? userStateFolder(env), shared: request.shared };
  const api = await openApi(settings, { drive: true, askMs: request.askMs, warn, worker: folders, store }, hooks);
  try {
    const queue = store.queue as Queue;
    // Shows the worker to others before it drives anything.
    const presence = await store.open();
    await queue.prepare(request.queues);
    let worker: Worker | null = null;
    const health = request.health === null ? null : await serveHealth(request.health, () => worker?.status() ?? null);
    worker = startWorker({
      ...{ queue, clock: systemClock, log },
      ...{
        queues: request.queues,
        concurrency: request.concurrency,
        perGroup: request.perGroup,
        perQueue: request.perQueue,
        graceMs: request.graceMs,
      },
      openTree: async (rootId) => ({ api, findPause: () => findTreePause(rootId, store) }),
      enqueueDue: (due) => enqueueDue(due, api),
    });
    log({ event: 'started', worker: name, queues: request.queues, concurrency: request.concurrency });
    if (health !== null) log({ event: 'health', url: health.url });
    return {
      async stop() {
        await worker?.stop();
        await store.release(presence).catch(() => {});
        await api.close();
        await health?.close();
      },
    };
  } catch (error) {
    await api.close();
    throw error;
  }
}
