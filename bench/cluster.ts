// PostgreSQL and workers: `npm run bench -- cluster`. Trees and facts per second of one process on each store, the time until another worker continues a
// tree, what a second worker adds, and what a worker costs that has nothing to do. The server is on this machine and waits for the disk at each commit.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FactOf } from '../src/contract/fact.ts';
import { isoToMs } from '../src/text/instant.ts';
import { createProxy } from '../test/support/postgres/proxy.ts';
import { startPostgresServer } from '../test/support/postgres/server.ts';
import { endWorker, withCluster } from './cluster-workers.ts';
import { startProvider } from './speed/processes.ts';
import { namedModels, openDelegator } from './speed/retinue.ts';
import { type StoreKind, withRuntime } from './support.ts';

export interface ClusterFigures {
  rates: { name: string; trees: number; facts: number }[];
  /** The share of the wall time that PostgreSQL adds to 256 children, and SQLite. */
  journal: { postgres: number; sqlite: number };
  /** Milliseconds from the signal to the first new fact of the tree, of each round. */
  takeover: { kill: number[]; stop: number[] };
  /** Trees per second with one and with two workers. */
  scale: { one: number; two: number };
  idle: { queries: number; mb: number; seconds: number };
}

/** Reports each figure as soon as it is measured: all of them take several minutes. */
export async function measureCluster(
  { rounds, idleSeconds }: { rounds: number; idleSeconds: number },
  report: (figures: Partial<ClusterFigures>) => void,
): Promise<void> {
  const server = await startPostgresServer({ isDurable: true, settings: ['max_wal_size=1GB'] });
  const url = server.url();
  try {
    report({ idle: await measureIdle(url, idleSeconds) });
    report({ takeover: { kill: await measureTakeovers(url, 'SIGKILL', rounds), stop: await measureTakeovers(url, 'SIGSTOP', rounds) } });
    report({ scale: await measureScale(url, rounds) });
    report({ rates: await measureRates(url, rounds) });
    report({ journal: await measureJournal(url, rounds) });
  } finally {
    await server.remove();
  }
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
const stores = (postgres: string): [string, StoreKind][] => [
  ['memory', 'memory'],
  ['SQLite', 'sqlite'],
  ['PostgreSQL', { postgres }],
];

/** Trees of one run whose model answers at once, 64 at a time. The first round of each store is not counted. */
async function measureRates(url: string, rounds: number): Promise<ClusterFigures['rates']> {
  const seconds = new Map<string, number[]>(stores(url).map(([name]) => [name, []]));
  let facts = 0;
  for (let round = -1; round < rounds; round++)
    for (const [name, kind] of stores(url)) {
      const result = await runTrees(kind);
      facts = result.facts;
      if (round >= 0) seconds.get(name)?.push(result.seconds);
    }
  return [...seconds].map(([name, each]) => ({ name, trees: treeCount / median(each), facts: facts / median(each) }));
}

const treeCount = 640;

async function runTrees(kind: StoreKind): Promise<{ seconds: number; facts: number }> {
  return withRuntime(kind, async (runtime, store) => {
    const start = performance.now();
    let next = 0;
    const work = async () => {
      while (next++ < treeCount) await (await runtime.start({ task: 'say done', agent: 'explore' })).outcome;
    };
    await Promise.all(Array.from({ length: 64 }, work));
    const seconds = (performance.now() - start) / 1000;
    return { seconds, facts: (await store.runs({})).reduce((sum, row) => sum + row.lastSeq, 0) };
  });
}

/** 256 children of three tool calls each, with a model of 200 ms. */
async function measureJournal(url: string, rounds: number): Promise<ClusterFigures['journal']> {
  const provider = await startProvider();
  const times = new Map<string, number[]>(stores(url).map(([name]) => [name, []]));
  try {
    for (let round = -1; round < rounds; round++)
      for (const [name, kind] of stores(url)) {
        const delegator = await openDelegator({ store: kind, ...namedModels(`${provider.url}/200`) });
        const { wallMs } = await delegator.run(256, 1);
        await delegator.close();
        if (round >= 0) times.get(name)?.push(wallMs);
      }
  } finally {
    provider.end();
  }
  const [memory = 0, sqlite = 1, postgres = 1] = [...times.values()].map(median);
  return { postgres: 1 - memory / postgres, sqlite: 1 - memory / sqlite };
}

/** A worker that drives a tree is killed or stopped, while another one has nothing to do. */
async function measureTakeovers(url: string, signal: 'SIGKILL' | 'SIGSTOP', rounds: number): Promise<number[]> {
  const look = { delayMs: 300, calls: [{ tool: 'list', args: { path: '.' } }], repeat: 300 };
  const times: number[] = [];
  for (let round = 0; round < rounds; round++)
    times.push(
      await withCluster(url, { runs: [{ times: 'any', steps: [look, { text: 'done' }] }] }, async ({ store, library, startWorker }) => {
        const first = await startWorker('first');
        const { id } = await library.enqueue({ task: 'go' });
        const until = async (isThere: () => Promise<boolean>) => {
          while (!(await isThere())) await sleep(20);
        };
        await until(async () => ((await store.run(id))?.turns ?? 0) > 2);
        const second = await startWorker('second');
        const at = performance.now();
        first.kill(signal);
        await until(async () => (await store.facts({ runId: id, types: ['run.resumed'] })).some(isTakeover));
        const ms = performance.now() - at;
        await library.enqueue({ task: 'end' });
        second.kill('SIGKILL');
        first.kill('SIGKILL');
        return ms;
      }),
    );
  return times;
}

const isTakeover = (fact: { type: string; data: unknown }) =>
  fact.type === 'run.resumed' && (fact as FactOf<'run.resumed'>).data.takeover === true;

/** Trees of four model calls of 200 ms, eight at a time for each worker, so that the model and not the processor is the limit. */
async function measureScale(url: string, rounds: number): Promise<ClusterFigures['scale']> {
  const look = { delayMs: 200, calls: [{ tool: 'list', args: { path: '.' } }], repeat: 3 };
  const script = { runs: [{ times: 'any', steps: [look, { delayMs: 200, text: 'done' }] }] };
  const measure = (names: string[]) =>
    withCluster(url, script, async ({ store, library, startWorker }) => {
      const workers = await Promise.all(names.map((name) => startWorker(name, { concurrency: 8 })));
      // The first tree of a worker loads what later ones find loaded.
      await Promise.all(Array.from({ length: 16 }, () => library.enqueue({ task: 'warm up' }).then((run) => run.outcome)));
      const runs = await Promise.all(Array.from({ length: 160 }, () => library.enqueue({ task: 'go' })));
      while ((await store.runs({ live: true })).length > 0) await sleep(200);
      const rows = await Promise.all(runs.map(({ id }) => store.run(id)));
      const from = Math.min(...rows.map((row) => isoToMs(row?.startedAt ?? '')));
      const to = Math.max(...rows.map((row) => isoToMs(row?.endedAt ?? '')));
      await Promise.all(workers.map(endWorker));
      return runs.length / ((to - from) / 1000);
    });
  const [one, two]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    one.push(await measure(['one']));
    two.push(await measure(['one', 'two']));
  }
  return { one: median(one), two: median(two) };
}

/** A worker without trees. Its statements are counted in a proxy before the server, BEGIN and COMMIT included. */
async function measureIdle(url: string, seconds: number): Promise<ClusterFigures['idle']> {
  return withCluster(url, { runs: [] }, async ({ url: database, startWorker }) => {
    const proxy = await createProxy(database);
    const worker = await startWorker('idle', { url: proxy.url });
    // What it does once when it starts is not counted.
    await sleep(10_000);
    let queries = 0;
    proxy.onData = (direction, piece) => {
      if (direction === 'to server') queries += countStatements(piece);
      return 'pass';
    };
    await sleep(seconds * 1000);
    const mb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${worker.pid}/status`, 'utf8'))?.[1]) / 1024;
    const figures = { queries: queries / seconds, mb, seconds };
    await endWorker(worker);
    await proxy.close();
    return figures;
  });
}

/** Messages that execute something: a simple query (Q) or a prepared one (E). Each has a letter and a length. */
function countStatements(piece: Buffer): number {
  let count = 0;
  for (let at = 0; at + 5 <= piece.length && piece[at] !== 0; at += 1 + piece.readUInt32BE(at + 1))
    if (piece[at] === 0x51 || piece[at] === 0x45) count++;
  return count;
}
