// `npm run torture -- [--kills N] [--seed S] [--jobs N]`: real processes, real databases, kill -9. Build first: it runs dist/.
// `npm run torture -- --cluster [--trees N] [--faults N] [--seed S]`: three workers on a PostgreSQL server, with all kinds of faults.
import { parseArgs } from 'node:util';
import { tortureCluster } from './cluster.ts';
import { printTortured, printTorturedCluster } from './print.ts';
import { torture } from './torture.ts';

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: { kills: text, seed: text, jobs: text, trees: text, faults: text, cluster: { type: 'boolean' } },
});
const seed = Number(values.seed ?? 1);
if (values.cluster) {
  const result = await tortureCluster({
    ...{ seed, trees: Number(values.trees ?? 200), faults: Number(values.faults ?? 300), maxDelayMs: 1_500, maxPeaceMs: 4_500 },
    print: (line) => void process.stdout.write(`${line}\n`),
  });
  process.stdout.write(printTorturedCluster(result));
  process.exitCode = result.failed.length === 0 ? 0 : 1;
} else {
  const result = await torture({ kills: Number(values.kills ?? 1000), seed, jobs: Number(values.jobs ?? 2) });
  process.stdout.write(printTortured(result));
  process.exitCode = result.failed.length === 0 ? 0 : 1;
}
