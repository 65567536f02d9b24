// The torture test of a cluster: three real workers on a real PostgreSQL server drive trees, while they are killed, stopped, drained and cut off from the
// database, and while the server is restarted. At the end the database is compared with the effects in files.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { orderKeyPath } from '../../src/config/order-key.ts';
import { loadState } from '../../src/kernel/recovery/history.ts';
import { countTakeovers } from '../../src/kernel/recovery/recovery.ts';
import { createLibrary } from '../../src/library/create.ts';
import type { Retinue } from '../../src/library/types.ts';
import { assembleApi } from '../../src/main/assemble.ts';
import { openPostgresStore } from '../../src/main/postgres.ts';
import type { Store } from '../../src/ports/store.ts';
import { createRandom, type Random } from '../simulation/random.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres/server.ts';
import { clusterFaults, isTakeover } from './cluster-check.ts';
import { startTorturedWorker, type TorturedWorker, type workerFaults } from './cluster-worker.ts';
import { rootTask, startTreeModel, type TreeShape } from './tree.ts';

export interface TorturedCluster {
  trees: number;
  runs: number;
  facts: number;
  /** Faults by kind, with crashes by themselves. */
  faults: Map<string, number>;
  /** Kills at crash points, by point. */
  points: Map<string, number>;
  takeovers: number;
  /** Calls that were cut off and reported as unknown. */
  unknown: number;
  ms: number;
  failed: string[];
}

export interface ClusterTortureOptions {
  seed: number;
  trees: number;
  faults: number;
  /** How long an answer of the model takes at most. */
  maxDelayMs: number;
  /** How long a worker is left alone between two faults at most. */
  maxPeaceMs: number;
  print?(line: string): void;
}

type Fault = (typeof workerFaults)[number] | 'restart';

/** Together 20. Every kind occurs in any 10 of the plan. */
const mix: Fault[] = [
  ...(['kill', 'term', 'stop', 'crash', 'cut', 'part', 'restart', 'kill', 'crash', 'term'] as const),
  ...(['kill', 'crash', 'cut', 'stop', 'term', 'kill', 'crash', 'part', 'cut', 'kill'] as const),
];
const workers = ['one', 'two', 'three'];
/** Without a new fact for this long, trees are stuck. A job that was taken and not driven comes back after one or two minutes. */
const stuckMs = 200_000;

const shape = (maxDelayMs: number): TreeShape => ({
  children: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'],
  maxDelayMs,
  isRich: false,
  effectName: (place, run, n) => `${place}-${run}-${n}`,
});

export async function tortureCluster(options: ClusterTortureOptions): Promise<TorturedCluster> {
  const begun = performance.now();
  const random = createRandom(options.seed);
  const folder = mkdtempSync(join(tmpdir(), 'retinue-torture-'));
  const workspaces = Array.from({ length: Math.min(20, options.trees) }, (_, n) => createWorkspace(join(folder, `w${n}`)));
  const model = await startTreeModel(random.fork(), shape(options.maxDelayMs));
  const server = await startPostgresServer();
  const env = {
    ...{ PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', RETINUE_MODEL: 'openai-compatible/torture' },
    ...{ RETINUE_BASE_URL: model.url, RETINUE_API_KEY: 'none' },
  };
  const store = await openPostgresStore({ url: server.url(), orderKey: orderKeyPath(env) });
  // A library of its own for each workspace; none of them closes the store.
  const shared: Store = { ...store, close: async () => {} };
  const libraries = workspaces.map((workspace) =>
    createLibrary(
      { model: 'openai-compatible/torture', workspace, store: shared, rules: ['allow bash'] },
      { assemble: assembleApi, env, cwd: () => folder, warn: () => {} },
    ),
  );
  const sum: TorturedCluster = {
    ...{ trees: 0, runs: 0, facts: 0, takeovers: 0, unknown: 0, ms: 0, failed: [] },
    ...{ faults: new Map<string, number>(), points: new Map<string, number>() },
  };
  const course: Course = { ...options, random, folder, workspaces, env, server, store, libraries, sum, queued: new Map() };
  try {
    await runCourse(course);
    await clusterFaults({ ...course, url: server.url() });
  } catch (error) {
    sum.failed.push(`the torture broke: ${error instanceof Error ? error.stack : error}`);
  } finally {
    await Promise.allSettled(libraries.map((library) => library.close()));
    await store.close();
    await server.remove();
    await model.close();
  }
  if (sum.failed.length === 0) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  else writeFileSync(join(folder, 'faults.txt'), sum.failed.join('\n'));
  return { ...sum, ms: Math.round(performance.now() - begun) };
}

function createWorkspace(folder: string): string {
  for (const name of ['effects', 'notes']) mkdirSync(join(folder, name), { recursive: true });
  return folder;
}

export interface Course extends ClusterTortureOptions {
  random: Random;
  folder: string;
  /** Trees share them: the changes of all trees of a workspace are artifacts of each of its calls. */
  workspaces: string[];
  env: Record<string, string | undefined>;
  server: PostgresServer;
  store: Store;
  libraries: Retinue[];
  sum: TorturedCluster;
  /** Acknowledged trees by name. */
  queued: Map<string, string>;
}

async function runCourse(course: Course): Promise<void> {
  const { random, folder, env, server, sum, store, print = () => {} } = course;
  const tally = (map: Map<string, number>, name: string) => map.set(name, (map.get(name) ?? 0) + 1);
  const plan = Array.from({ length: course.faults }, (_, n) => mix[n % mix.length] as Fault);
  const started = await Promise.all(
    workers.map((name) =>
      startTorturedWorker({
        ...{ name, folder, env, serverUrl: server.url(), random: random.fork() },
        onCrash(point) {
          tally(sum.faults, 'crash by itself');
          tally(sum.points, point);
        },
        onProblem: (what) => void sum.failed.push(what),
      }),
    ),
  );
  let done = 0;
  let isRestarting = false;
  async function torment(worker: TorturedWorker): Promise<void> {
    for (let fault = plan.shift(); fault !== undefined; fault = plan.shift()) {
      await sleep(random.int(500, course.maxPeaceMs));
      await waitForProgress(course);
      if (fault === 'restart' && !isRestarting) {
        isRestarting = true;
        await restartServer(server, random);
        isRestarting = false;
      } else await worker.suffer(fault === 'restart' ? 'kill' : fault);
      tally(sum.faults, fault);
      if (++done % 10 === 0) print(`${done} of ${course.faults} faults, ${(await store.runs({ live: true })).length} live runs`);
    }
  }
  const queueing = queueTrees(course, () => done / course.faults);
  try {
    await Promise.all(started.map(torment));
    await queueing;
    await waitForEnd(course);
  } finally {
    await Promise.all(started.map((worker) => worker.end()));
  }
}

/**
 * A tree whose processes die four times in a row without progress ends as `failed: crashed`, and that is right, whoever killed them. So before the next
 * fault every tree that was taken over twice makes some progress. A tree that never does is stuck.
 */
async function waitForProgress({ store, sum }: Course): Promise<void> {
  const begun = performance.now();
  for (;;) {
    // The server may be restarting.
    const stuck = await findTreesWithoutProgress(store).catch(() => null);
    if (stuck?.length === 0) return;
    if (performance.now() - begun > stuckMs) return void sum.failed.push(`trees without progress after two takeovers: ${stuck?.join()}`);
    await sleep(300);
  }
}

/** The live trees that were taken over twice since their last progress. */
async function findTreesWithoutProgress(store: Store): Promise<string[]> {
  const trees = Map.groupBy(await store.runs({ live: true }), ({ rootId }) => rootId);
  const found = await Promise.all(
    [...trees].map(async ([rootId, rows]) => {
      const resumed = await store.facts({ runId: rootId, types: ['run.resumed'] });
      if (resumed.filter(isTakeover).length < 2) return [];
      const states = await Promise.all(rows.map(({ runId }) => loadState(runId, store)));
      return countTakeovers(states) >= 2 ? [rootId] : [];
    }),
  );
  return found.flat();
}

async function restartServer(server: PostgresServer, random: Random): Promise<void> {
  await server.stop(random.pick(['fast', 'immediate']));
  await sleep(random.int(0, 1_500));
  await server.start();
}

/** Queues trees in step with the faults, some of them in advance. A call that fails is repeated with the same key, and must not make a second tree. */
async function queueTrees({ trees, faults, libraries, queued, sum }: Course, progress: () => number): Promise<void> {
  const ahead = Math.max(6, Math.ceil(trees / Math.max(1, faults / 8)));
  for (let n = 0; n < trees; n++) {
    const name = `t${n}`;
    const library = libraries[n % libraries.length] as Retinue;
    while (progress() < 1 && n > progress() * trees + ahead) await sleep(200);
    for (let tries = 1; !queued.has(name); tries++) {
      try {
        const { id } = await library.enqueue({ task: rootTask(name), label: name, idempotencyKey: name });
        queued.set(name, id);
      } catch (error) {
        if (tries > 20) throw error;
        await sleep(250);
      }
    }
    sum.trees++;
  }
}

async function waitForEnd({ store, sum, print = () => {} }: Course): Promise<void> {
  let [written, changedAt] = [0, performance.now()];
  for (;;) {
    const rows = await store.runs({});
    const live = rows.filter(({ endedAt }) => endedAt === null);
    if (live.length === 0) return;
    const facts = rows.reduce((count, row) => count + row.lastSeq, 0);
    if (facts !== written) [written, changedAt] = [facts, performance.now()];
    if (performance.now() - changedAt > stuckMs) {
      sum.failed.push(...live.slice(0, 10).map(({ runId, status }) => `run ${runId} is stuck: ${status}`), `${live.length} runs are stuck`);
      return;
    }
    print(`${live.length} live runs after the last fault`);
    await sleep(2_000);
  }
}
