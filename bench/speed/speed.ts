// The speed of delegation against programs that do the same without Retinue: the table of docs/performance.md. `npm run bench` prints it.
import { loadavg } from 'node:os';
import { measureCommandLine } from './command-line.ts';
import { type Case, type Comparison, compare } from './compare.ts';
import type { Command, Name } from './contestant.ts';
import { startContestant, startProvider } from './processes.ts';
import { measureStarts } from './start.ts';
import { formatSpread, ratios, type Spread, spread } from './statistics.ts';

const all: readonly Name[] = ['fetch', 'http', 'ai', 'memory', 'sqlite', 'ai-model'];
const withProcesses: readonly Name[] = [...all, 'process'];

function listCases(largest: number): Case[] {
  const cases = [0, 200].flatMap((delay): Case[] => [
    { n: 1, delay, times: delay === 0 ? 20 : 2, rounds: 7, names: withProcesses },
    { n: 8, delay, times: delay === 0 ? 6 : 1, rounds: 7, names: withProcesses },
    { n: 64, delay, times: 2, rounds: 7, names: all },
    { n: 256, delay, times: 1, rounds: 9, names: all },
    { n: 1024, delay, times: 1, rounds: 3, names: all },
    { n: 4096, delay, times: 1, rounds: 3, names: ['fetch', 'http', 'memory', 'sqlite'] },
  ]);
  return cases.filter(({ n }) => n <= largest);
}

/**
 * The compiler of V8 needs thousands of children until it has optimized everything that a delegation runs, and hundreds for a loop over `fetch`. Processes that
 * have just started are compared by the lines about starts and the command line.
 */
const warmUp = Array<number>(16).fill(256);

/** What a child of three tool calls took in the database before its layout changed. */
const earlierBytes = 10_300;

function printLine(what: string, value: string, goal: string, isMet: boolean): void {
  process.stdout.write(`| ${what} | ${value} | ${goal} | ${isMet ? 'pass' : '**short**'} |\n`);
}

function printRatio(what: string, ratio: Spread, goal: number): void {
  printLine(what, `${formatSpread(ratio)} ×`, `≤ ${goal} ×`, ratio.median <= goal);
}

/** `largest`: leaves out larger numbers of children. The whole table takes about ten minutes on two idle cores. */
export async function printSpeed(largest = 4096): Promise<void> {
  const progress = (text: string) => process.stderr.write(`… ${text}\n`);
  const provider = await startProvider();
  try {
    const loadBefore = loadavg()[0] as number;
    const comparison = await compare(provider.url, listCases(largest), { warmUp, wakeUp: 64, progress });
    progress('starts');
    const starts = await measureStarts(provider, 11);
    progress('heap and micro');
    const micro = await measureMicro(provider.url, 5);
    const heap = await measureHeap(provider.url);
    progress('command line');
    const commandLine: [number, number, Spread][] = [];
    for (const delay of [0, 200]) for (const n of [1, 8, 64]) commandLine.push([n, delay, await measureCommandLine(provider, n, delay, 3)]);
    process.stdout.write(`Load of the machine: ${loadBefore.toFixed(1)} before, ${(loadavg()[0] as number).toFixed(1)} after.\n\n`);
    process.stdout.write('| what | figure | goal | |\n|---|--:|--:|---|\n');
    printComparison(comparison);
    printLine(
      'library with SQLite: start to first request, beyond `fetch`',
      `${formatSpread(starts.added, 0)} ms`,
      '≤ 80 ms',
      starts.added.median <= 80,
    );
    printLine('`retinue run`: start to first request', `${formatSpread(starts.command, 0)} ms`, '≤ 180 ms', starts.command.median <= 180);
    printLine(
      '1,000 children of an AI SDK model over a mock `fetch`: children/s over its own loop',
      `${formatSpread(micro)} ×`,
      '≥ 1.2 ×',
      micro.median >= 1.2,
    );
    const ends = [64, Math.min(4096, largest)] as const;
    const [small, large] = ends.map((n) => comparison.overhead('sqlite', { n, delay: 0 }).median / n) as [number, number];
    printLine(
      `growth: overhead per child at n = ${ends[1]} over n = 64`,
      `${(large / small).toFixed(2)} ×`,
      '≤ 1.1 ×',
      large / small <= 1.1,
    );
    printLine('heap per live child', formatKb(heap.live), '≤ 25 KB', heap.live <= 25 * 1024);
    printLine('heap per queued child', formatKb(heap.queued), '≤ 4 KB', heap.queued <= 4 * 1024);
    const bytes = await measureBytes(provider.url, { do: 'database', n: 256 });
    printLine('database bytes per child', `${bytes.toFixed(0)}`, `≤ ${earlierBytes / 2}`, bytes <= earlierBytes / 2);
    printDetails(comparison, commandLine);
  } finally {
    provider.end();
  }
}

function printComparison({ ratio }: Comparison): void {
  for (const [delay, goal] of [
    [200, 0.6],
    [0, 0.9],
  ] as const)
    printRatio(`overhead over \`fetch\`, n = 256, ${delay} ms`, ratio('overheadMs', 'sqlite', 'fetch', { n: 256, delay }), goal);
  for (const n of [1, 8])
    for (const delay of [200, 0]) printRatio(`the same, n = ${n}, ${delay} ms`, ratio('overheadMs', 'sqlite', 'fetch', { n, delay }), 1.1);
  for (const delay of [200, 0])
    printRatio(`overhead over \`node:http\`, n = 256, ${delay} ms`, ratio('overheadMs', 'sqlite', 'http', { n: 256, delay }), 1.3);
  for (const delay of [200, 0])
    printRatio(`processor time per child over \`fetch\`, n = 256, ${delay} ms`, ratio('cpuMs', 'sqlite', 'fetch', { n: 256, delay }), 1);
  for (const delay of [200, 0])
    printRatio(
      `AI SDK model: processor time per child over its own loop, n = 256, ${delay} ms`,
      ratio('cpuMs', 'ai-model', 'ai', { n: 256, delay }),
      1,
    );
}

/** Children per second, Retinue with SQLite over the AI SDK's own loop. */
async function measureMicro(server: string, rounds: number): Promise<Spread> {
  const [own, delegated] = [startContestant('ai', server), startContestant('ai-model', server)];
  const times: { own: number[]; delegated: number[] } = { own: [], delegated: [] };
  try {
    for (let round = -2; round < rounds; round++) {
      const [first, second] = [await own.carryOut(microCommand), await delegated.carryOut(microCommand)];
      if (round < 0) continue;
      times.own.push(first.wallMs);
      times.delegated.push(second.wallMs);
    }
  } finally {
    own.end();
    delegated.end();
  }
  return ratios(times.own, times.delegated);
}

const microCommand = { do: 'micro', n: 1000, turns: 3 } as const;

/** Per child, in a process that does nothing else. */
async function measureBytes(server: string, command: Command): Promise<number> {
  const contestant = startContestant('sqlite', server);
  try {
    return (await contestant.carryOut(command)).bytes as number;
  } finally {
    contestant.end();
  }
}

async function measureHeap(server: string): Promise<{ live: number; queued: number }> {
  const measure = (what: 'live' | 'queued', n: number) => measureBytes(server, { do: 'heap', n, what });
  return {
    live: spread([await measure('live', 1024), await measure('live', 1024), await measure('live', 1024)]).median,
    queued: await measure('queued', 10_000),
  };
}

const formatKb = (bytes: number) => `${(bytes / 1024).toFixed(1)} KB`;

function printDetails({ cases, overhead, cpu }: Comparison, commandLine: [number, number, Spread][]): void {
  process.stdout.write('\nOverhead in ms (middle half), and processor time per child in ms:\n\n');
  process.stdout.write(`| n | delay | ${withProcesses.join(' | ')} |\n|--:|--:|${'--:|'.repeat(withProcesses.length)}\n`);
  for (const { n, delay, names } of cases) {
    const cell = (name: Name) =>
      names.includes(name) ? `${formatSpread(overhead(name, { n, delay }), 1)}; ${cpu(name, { n, delay }).median.toFixed(2)}` : '';
    process.stdout.write(`| ${n} | ${delay} | ${withProcesses.map(cell).join(' | ')} |\n`);
  }
  process.stdout.write(
    '\n`retinue run` with a parent that delegates: from its first request to its end, beyond six model calls, in ms:\n\n',
  );
  for (const [n, delay, ms] of commandLine) process.stdout.write(`- n = ${n}, ${delay} ms: ${formatSpread(ms, 0)}\n`);
}
