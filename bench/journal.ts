// What storing the facts costs, in memory, in SQLite and in PostgreSQL: a parent with 256 children of three tool calls each, against a local provider that
// takes 200 ms per call; and 1,000 children whose model answers at once. The PostgreSQL server is on this machine and waits for the disk at each commit.
// `node bench/journal.ts [rounds]`
import { startPostgresServer } from '../test/support/postgres/server.ts';
import { runDelegated, startProvider } from './network.ts';
import { type StoreKind, withRuntime } from './support.ts';

const rounds = Number(process.argv[2] ?? 5);

async function runAtOnce(kind: StoreKind): Promise<number> {
  return withRuntime(kind, async (runtime) => {
    const client = await runtime.client({ limits: { maxConcurrent: 256 } });
    const start = performance.now();
    const runs = await Promise.all(Array.from({ length: 1000 }, (_, n) => client.delegate({ task: `say done ${n}`, agent: 'explore' })));
    await Promise.all(runs.map((run) => run.outcome));
    const ms = performance.now() - start;
    await client.close();
    return ms;
  });
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;

const provider = await startProvider();
const server = await startPostgresServer({ isDurable: true, settings: ['max_wal_size=1GB'] });
try {
  const kinds: [string, StoreKind][] = [
    ['memory', 'memory'],
    ['sqlite', 'sqlite'],
    ['postgres', { postgres: server.url() }],
  ];
  const works: [string, (kind: StoreKind) => Promise<number>][] = [
    ['256 children × 3 tool calls, model of 200 ms', (kind) => runDelegated(provider.url, 256, kind)],
    ['1,000 children, model that answers at once', runAtOnce],
  ];
  for (const [what, work] of works) {
    const times = new Map<string, number[]>(kinds.map(([name]) => [name, []]));
    // The first round is not counted: the JIT compiler has not seen the code yet.
    for (let round = -1; round < rounds; round++)
      for (const [name, kind] of kinds) {
        const ms = await work(kind);
        if (round >= 0) times.get(name)?.push(ms);
      }
    console.log(what);
    const base = median(times.get('memory') as number[]);
    for (const [name, each] of times) {
      const ms = median(each);
      console.log(
        `  ${name.padEnd(10)} ${ms.toFixed(0).padStart(6)} ms   ${((1 - base / ms) * 100).toFixed(0).padStart(3)} % of it for storing`,
      );
    }
  }
} finally {
  provider.end();
  await server.remove();
}
