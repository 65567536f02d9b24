// `retinue demo cluster`: two workers on a PostgreSQL server. The one that drives a tree of six runs is killed with kill -9 halfway, and the other one
// takes the tree over. The model is a scripted provider in this process, over real HTTP: it survives the kill and records every request. All numbers are
// counted from the log, from that record and from the lines that the tools wrote.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgresStore } from 'retinue/postgres';
import { checkInvariants, startProviderServer } from 'retinue/testing';
import { startPostgresServer } from './cluster/postgres-server.ts';
import { count, keyOf } from './crash/count.ts';
import { answerRequest, type ModelRequest, parseRequest, rootTask } from './crash/tree.ts';

/** The worker is killed shortly after this request. */
const killAtRequest = 9;

export interface ClusterDemoResult {
  runs: number;
  openAtKill: number;
  completed: number;
  /** Names of the workers that drove the tree, in order. */
  workers: string[];
  /** From the kill to the first new event of the other worker. */
  takeoverMs: number;
  model: { asked: number; answered: number; repeated: number };
  tools: { finished: number; unknown: number; repeated: number };
  facts: number;
  faults: string[];
}

/** `report` gets a line at each stage. */
export async function runClusterDemo(
  { root, env }: { root: string; env: Record<string, string | undefined> },
  report: (line: string) => void,
): Promise<ClusterDemoResult> {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-demo-'));
  const effects = join(folder, 'effects');
  mkdirSync(effects);
  const orderKey = join(folder, 'order-key');
  writeFileSync(orderKey, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  report('starting a PostgreSQL server of its own\n');
  const postgres = await startPostgresServer();
  const requests: ModelRequest[] = [];
  const halfway = Promise.withResolvers<void>();
  const provider = await startProviderServer({
    answer: ({ body }) => {
      const request = parseRequest(body);
      requests.push(request);
      if (requests.length === killAtRequest) halfway.resolve();
      return answerRequest(request);
    },
  });
  const started = new Set<ChildProcess>();
  const start = (...args: string[]) => {
    const childEnv = {
      ...{ PATH: env.PATH, HOME: folder, RETINUE_DB: postgres.url(), RETINUE_ORDER_KEY: orderKey },
      ...{ RETINUE_MODEL: 'openai-compatible/demo', RETINUE_BASE_URL: provider.url, RETINUE_API_KEY: 'none' },
    };
    const child = spawn(process.execPath, [join(root, 'bin', 'retinue.js'), ...args], { cwd: folder, env: childEnv, stdio: 'ignore' });
    started.add(child);
    return child;
  };
  const store = await openPostgresStore({ url: postgres.url(), orderKey });
  const countAll = async () => ({ ...count(await store.facts({}), linesIn(effects)), violations: await checkInvariants(store) });
  /** The worker that drives the tree, and its process. */
  const findDriver = async (rootId: string) => {
    const holder = (await store.holders([rootId])).get(rootId);
    return holder?.alive && holder.worker !== undefined ? { name: holder.worker, pid: holder.pid } : null;
  };
  const waitFor = async <T>(find: () => Promise<T | null | undefined>): Promise<T> => {
    for (;;) {
      const found = await find();
      if (found !== null && found !== undefined) return found;
      await sleep(50);
    }
  };
  try {
    const workers = ['worker-1', 'worker-2'].map((name) => start('worker', '--name', name));
    report(`two workers wait for runs: processes ${workers.map(({ pid }) => pid).join(' and ')}\n`);
    start('run', '--queue', '--detach', '--allow', 'bash', rootTask);
    const root = await waitFor(async () => (await store.runs({ roots: true }))[0]);
    const first = await waitFor(() => findDriver(root.runId));
    report(`${first.name} has taken a tree of six runs from the queue\n`);
    await halfway.promise;
    await sleep(120);
    process.kill(first.pid, 'SIGKILL');
    const killedAt = performance.now();
    const requestsBefore = requests.length;
    const before = await countAll();
    report(
      `${first.name} was killed with kill -9: ${before.answers} model answers and ${before.tools} tool calls are recorded, ${before.open} runs are unfinished\n`,
    );
    const second = await waitFor(async () => {
      const driver = await findDriver(root.runId);
      return driver?.name === first.name ? null : driver;
    });
    await waitFor(async () => ((await store.facts({ rootId: root.runId })).length > before.facts ? true : null));
    const takeoverMs = Math.round(performance.now() - killedAt);
    report(`${second.name} has taken the tree over after ${(takeoverMs / 1000).toFixed(1)} s and continues it\n`);
    await waitFor(async () => (await store.run(root.runId))?.endedAt);
    const after = await countAll();
    report(`finished: ${after.completed} of ${after.runs} runs completed\n\n`);
    return {
      runs: after.runs,
      openAtKill: before.open,
      completed: after.completed,
      workers: [first.name, second.name],
      takeoverMs,
      model: {
        asked: requests.length,
        answered: after.answers,
        repeated: requests.slice(requestsBefore).filter((request) => before.answered.has(keyOf(request))).length,
      },
      tools: { finished: after.tools, unknown: after.unknown, repeated: after.repeatedTools },
      facts: after.facts,
      faults: after.violations.map(({ invariant, runId, what }) => `${invariant} ${runId ?? ''}: ${what}`),
    };
  } finally {
    for (const child of started) child.kill('SIGTERM');
    await Promise.all([...started].map(exited));
    await store.close();
    await provider.close();
    await postgres.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

function linesIn(folder: string): Map<string, number> {
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8').split('\n').length - 1]));
}
