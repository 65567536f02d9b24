import { type Simulated, simulate } from './simulate.ts';
import { simulateWorkers } from './workers.ts';

/** `process`: one process after another drives trees. `workers`: several at once take trees from a queue. */
const simulations = { process: simulate, workers: simulateWorkers };
export type SimulationKind = keyof typeof simulations;

export interface ManySimulated extends Omit<Simulated, 'faults'> {
  kind: SimulationKind;
  seeds: number;
  ms: number;
  failed: { seed: number; faults: string[] }[];
}

/** Simulates one seed after another, from `from` on, until there were `runs` runs. */
export async function simulateMany({
  from,
  runs,
  kind = 'process',
  print,
}: {
  from: number;
  runs: number;
  kind?: SimulationKind;
  print?: (line: string) => void;
}): Promise<ManySimulated> {
  const begun = performance.now();
  const sum: ManySimulated = {
    ...{ kind, seeds: 0, runs: 0, facts: 0, crashes: 0, compactions: 0, flows: 0, reviews: 0, answers: 0 },
    ...{ statuses: {}, failed: [], ms: 0 },
  };
  for (let seed = from; sum.runs < runs; seed++) {
    const { faults, ...one } = await simulations[kind](seed, print);
    sum.seeds++;
    sum.runs += one.runs;
    sum.facts += one.facts;
    sum.crashes += one.crashes;
    sum.compactions += one.compactions;
    sum.flows += one.flows;
    sum.reviews += one.reviews;
    sum.answers += one.answers;
    for (const [status, count] of Object.entries(one.statuses)) sum.statuses[status] = (sum.statuses[status] ?? 0) + count;
    if (faults.length > 0) sum.failed.push({ seed, faults });
  }
  return { ...sum, ms: Math.round(performance.now() - begun) };
}

export function printSimulated({ statuses, ms, failed, ...sum }: ManySimulated): string {
  const { kind, seeds, runs, facts, crashes, compactions, flows, reviews, answers } = sum;
  const ends = Object.entries(statuses).map(([status, count]) => `${count} ${status}`);
  const lines = [
    `${kind}: ${runs} runs (${ends.join(', ')}) of ${seeds} seeds, ${facts} facts, ${crashes} crashes, ${compactions} compactions, ${flows} flows, ${reviews} reviews, ${answers} answers, ${ms} ms: ${failed.length} seeds failed`,
  ];
  for (const { seed, faults } of failed.slice(0, 10))
    lines.push(`  npm run simulate -- --kind ${kind} --seed ${seed}`, ...faults.slice(0, 5).map((fault) => `    ${fault.slice(0, 600)}`));
  return `${lines.join('\n')}\n`;
}
