// `npm run simulate -- [--seed N] [--from N] [--runs N] [--facts]`: simulates one seed, or as many as needed for this number of runs. `--facts` prints
// the journal at the end.
import { parseArgs } from 'node:util';
import { printSimulated, simulateMany } from './many.ts';

const { values } = parseArgs({
  options: { seed: { type: 'string' }, runs: { type: 'string' }, from: { type: 'string' }, facts: { type: 'boolean' } },
});
const one = values.seed === undefined ? null : Number(values.seed);
const result = await simulateMany({
  from: one ?? Number(values.from ?? 1),
  runs: one === null ? Number(values.runs ?? 20_000) : 1,
  ...(values.facts ? { print: (line: string) => void process.stdout.write(`${line}\n`) } : {}),
});
process.stdout.write(printSimulated(result));
process.exitCode = result.failed.length === 0 ? 0 : 1;
