// Runs the same children by all contestants, one after the other, round by round, so that a busy moment of the machine concerns all of them.
import type { Figures, Name } from './contestant.ts';
import { type Contestant, startContestant } from './processes.ts';
import { ratios, type Spread, spread } from './statistics.ts';

/** A child makes three tool calls: four model calls, one after the other. */
const callsPerChild = 4;

export interface Case {
  n: number;
  delay: number;
  /** Groups of `n` children per measurement. */
  times: number;
  rounds: number;
  names: readonly Name[];
}

interface Sample {
  overheadMs: number;
  cpuMs: number;
}

export interface Comparison {
  cases: Case[];
  /** Time beyond that of the model calls, per group of children. */
  overhead(name: Name, at: { n: number; delay: number }): Spread;
  /** Processor time per child. */
  cpu(name: Name, at: { n: number; delay: number }): Spread;
  ratio(what: 'overheadMs' | 'cpuMs', of: Name, to: Name, at: { n: number; delay: number }): Spread;
}

/**
 * `warmUp`: groups of children that each contestant runs before anything counts, so that the JIT compiler has seen everything. `wakeUp`: children that it runs
 * before each measurement, because the system takes memory and caches away from a process while others have their turns.
 */
export async function compare(
  server: string,
  cases: Case[],
  { warmUp, wakeUp = 0, progress }: { warmUp: number[]; wakeUp?: number; progress(text: string): void },
): Promise<Comparison> {
  const samples = new Map<string, Sample[]>();
  const contestants = new Map<Name, Contestant>();
  for (const name of new Set(cases.flatMap(({ names }) => names))) contestants.set(name, startContestant(name, server));
  try {
    progress('warm-up');
    for (const contestant of contestants.values())
      for (const n of contestant.name === 'process' ? [1] : warmUp) await contestant.carryOut({ do: 'run', n, times: 1, delay: 0 });
    for (const { n, delay, times, rounds, names } of cases) {
      progress(`${n} children, ${delay} ms`);
      for (let round = 0; round < rounds; round++)
        for (const name of rotate(names, round)) {
          const contestant = contestants.get(name) as Contestant;
          if (wakeUp > 0 && name !== 'process') await contestant.carryOut({ do: 'run', n: wakeUp, times: 1, delay: 0 });
          const figures = await contestant.carryOut({ do: 'run', n, times, delay });
          const key = caseKey(name, { n, delay });
          samples.set(key, [...(samples.get(key) ?? []), toSample(figures, { n, times, delay })]);
        }
    }
  } finally {
    for (const contestant of contestants.values()) contestant.end();
  }
  const values = (name: Name, at: { n: number; delay: number }, what: 'overheadMs' | 'cpuMs') =>
    (samples.get(caseKey(name, at)) ?? []).map((sample) => sample[what]);
  return {
    cases,
    overhead: (name, at) => spread(values(name, at, 'overheadMs')),
    cpu: (name, at) => spread(values(name, at, 'cpuMs')),
    ratio: (what, of, to, at) => ratios(values(of, at, what), values(to, at, what)),
  };
}

function caseKey(name: Name, { n, delay }: { n: number; delay: number }): string {
  return `${name} ${n} ${delay}`;
}

/** Nobody is always the first of a round. */
function rotate(names: readonly Name[], by: number): Name[] {
  const at = by % names.length;
  return [...names.slice(at), ...names.slice(0, at)];
}

function toSample({ wallMs, cpuMs }: Figures, { n, times, delay }: { n: number; times: number; delay: number }): Sample {
  return { overheadMs: wallMs / times - callsPerChild * delay, cpuMs: cpuMs / (n * times) };
}
