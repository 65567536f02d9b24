// `npm run simulate -- [--kind process|workers] [--seed N] [--from N] [--runs N] [--facts]`: simulates one seed, or as many as needed for this number of
// runs of each kind. `--facts` prints the journal at the end.
import { parseArgs } from 'node:util';
import { printSimulated, type SimulationKind, simulateMany } from './many.ts';

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { kind: text, seed: text, runs: text, from: text, facts: { type: 'boolean' } } });
const one = values.seed === undefined ? null : Number(values.seed);
const kinds = values.kind === undefined ? (['process', 'workers'] as const) : [values.kind as SimulationKind];
for (const kind of kinds) {
  const result = await simulateMany({
    ...{ kind, from: one ?? Number(values.from ?? 1), runs: one === null ? Number(values.runs ?? 20_000) : 1 },
    ...(values.facts ? { print: (line: string) => void process.stdout.write(`${line}\n`) } : {}),
  });
  process.stdout.write(printSimulated(result));
  if (result.failed.length > 0) process.exitCode = 1;
}
