// Workers in this process, with the real kernel and a scripted model, on any store with a queue.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { builtInAgents } from '../../src/agents/built-in.ts';
import { createCatalog } from '../../src/agents/catalog.ts';
import type { Api } from '../../src/api/api.ts';
import { createApi } from '../../src/api/create.ts';
import { findTreePause } from '../../src/api/tree-pause.ts';
import type { FactOf } from '../../src/contract/fact.ts';
import { native } from '../../src/dialects/native.ts';
import type { Checkouts } from '../../src/ports/checkouts.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { JobOptions, Queue } from '../../src/ports/queue.ts';
import type { Store } from '../../src/ports/store.ts';
import { systemClock, systemIds } from '../../src/system/clock.ts';
import { checkInvariants, invariantNames } from '../../src/testing/invariants.ts';
import { enqueueDue } from '../../src/worker/enqueue-due.ts';
import type { WorkerEvent } from '../../src/worker/log.ts';
import { startWorker, type Worker } from '../../src/worker/worker.ts';
import { readAllFacts } from '../support/postgres/all-facts.ts';
import { createWorld } from '../support/world.ts';

export interface TestWorker {
  worker: Worker;
  events: WorkerEvent[];
  /** How often it reported this about a tree. */
  count(event: WorkerEvent['event'], rootId?: string): number;
}

export interface TestWorkerOptions {
  store: Store;
  script?: object;
  clock?: Clock;
  /** The clock of `delayMs` in scripts. */
  scriptClock?: Clock;
  concurrency?: number;
  /** Gives roots their files. */
  checkouts?: Checkouts;
  /** Between taking a job and claiming its tree. */
  beforeOpen?(rootId: string): Promise<void>;
}

const excuses = Object.fromEntries(
  invariantNames.map((name) => [name, 'several processes share the store; the test checks it at the end']),
);
export const doneScript = { runs: [{ times: 'any' as const, steps: [{ text: 'done' }] }] };
const ids = { ...systemIds };

let workspace: string | null = null;

/** One workspace for all processes of a test. */
function getWorkspace(): string {
  if (workspace === null) {
    const folder = mkdtempSync(join(tmpdir(), 'retinue-worker-'));
    workspace = folder;
    onTestFinished(() => {
      workspace = null;
      rmSync(folder, { recursive: true, force: true });
    });
  }
  return workspace;
}

export async function openTestApi(
  store: Store,
  { script = doneScript, clock = systemClock, scriptClock, checkouts }: Partial<TestWorkerOptions> = {},
): Promise<Api> {
  const world = await createWorld({
    script,
    store: withoutClose(store),
    clock,
    ...(scriptClock && { scriptClock }),
    excuses,
    settings: { workspace: getWorkspace() },
    options: { ids, ...(checkouts && { checkouts }) },
  });
  onTestFinished(() => world[Symbol.asyncDispose]());
  const catalog = createCatalog(builtInAgents);
  return createApi({ store, clock, ids, catalog, dialect: native, runtime: async () => world.runtime, ...(checkouts && { checkouts }) });
}

export async function startTestWorker(options: TestWorkerOptions): Promise<TestWorker> {
  const { store, clock = systemClock, concurrency = 4, beforeOpen = async () => {} } = options;
  const api = await openTestApi(store, options);
  const events: WorkerEvent[] = [];
  const worker = startWorker({
    ...{ queue: store.queue as Queue, clock, queues: ['q'], concurrency, graceMs: 1_000 },
    log: (event) => void events.push(event),
    async openTree(rootId) {
      await beforeOpen(rootId);
      return { api, findPause: () => findTreePause(rootId, store) };
    },
    enqueueDue: (due) => enqueueDue(due, api),
  });
  onTestFinished(() => worker.stop());
  const count = (name: WorkerEvent['event'], rootId?: string) =>
    events.filter((event) => event.event === name && (rootId === undefined || ('rootId' in event && event.rootId === rootId))).length;
  return { worker, events, count };
}

export async function enqueue(api: Api, job: Partial<JobOptions> = {}, idempotencyKey?: string): Promise<string> {
  const brief = { task: 'go', ...(idempotencyKey !== undefined && { idempotencyKey }) };
  return (await api.enqueue(brief, { job: { queue: 'q', ...job }, usesWorkspace: true })).runId;
}

/** Every tree has ended once, as completed, and no job is left. */
export async function expectAllEnded(store: Store, rootIds: string[]): Promise<void> {
  await expect.poll(async () => (await store.runs({ live: true })).length, { timeout: 240_000, interval: 200 }).toBe(0);
  const countJobs = async () => [...((await store.queue?.findTrees(rootIds)) ?? new Map()).values()].filter(({ hasJob }) => hasJob).length;
  await expect.poll(countJobs, { timeout: 60_000 }).toBe(0);
  const facts = await readAllFacts(store);
  const ends = facts.filter((fact) => fact.type === 'run.ended') as FactOf<'run.ended'>[];
  expect(ends.map(({ runId }) => runId).sort()).toEqual([...rootIds].sort());
  expect(ends.filter(({ data }) => data.outcome.status !== 'completed')).toEqual([]);
  expect(await checkInvariants({ ...store, facts: async () => facts })).toEqual([]);
}

const withoutClose = (store: Store): Store => ({ ...store, close: async () => {} });
