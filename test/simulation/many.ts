import { type Simulated, simulate } from './simulate.ts';

export interface ManySimulated extends Omit<Simulated, 'faults'> {
  seeds: number;
  ms: number;
  failed: { seed: number; faults: string[] }[];
}

/** Simulates one seed after another, from `from` on, until there were `runs` runs. */
export async function simulateMany({
  from,
  runs,
  print,
}: {
  from: number;
  runs: number;
  print?: (line: string) => void;
}): Promise<ManySimulated> {
  const begun = performance.now();
  const sum: ManySimulated = { seeds: 0, runs: 0, facts: 0, crashes: 0, statuses: {}, failed: [], ms: 0 };
  for (let seed = from; sum.runs < runs; seed++) {
    const { faults, ...one } = await simulate(seed, print);
    sum.seeds++;
    sum.runs += one.runs;
    sum.facts += one.facts;
    sum.crashes += one.crashes;
    for (const [status, count] of Object.entries(one.statuses)) sum.statuses[status] = (sum.statuses[status] ?? 0) + count;
    if (faults.length > 0) sum.failed.push({ seed, faults });
  }
  return { ...sum, ms: Math.round(performance.now() - begun) };
}

export function printSimulated({ seeds, runs, facts, crashes, statuses, ms, failed }: ManySimulated): string {
  const ends = Object.entries(statuses).map(([status, count]) => `${count} ${status}`);
  const lines = [
    `${runs} runs (${ends.join(', ')}) of ${seeds} seeds, ${facts} facts, ${crashes} crashes, ${ms} ms: ${failed.length} seeds failed`,
  ];
  for (const { seed, faults } of failed.slice(0, 10))
    lines.push(`  npm run simulate -- --seed ${seed}`, ...faults.slice(0, 5).map((fault) => `    ${fault.slice(0, 600)}`));
  return `${lines.join('\n')}\n`;
}
