// The short form of the benchmark, for the tests: it fails on a regression. It compares processor time and counts bytes, which a busy machine hardly changes,
// and its bounds are wide: what it finds is a mechanism that was lost, not a few per cent.
import { compare } from './compare.ts';
import type { Command } from './contestant.ts';
import { startContestant, startProvider } from './processes.ts';

interface Check {
  what: string;
  figure: number;
  atMost: number;
}

/** Prints each check; false if one fails. */
export async function printShort(): Promise<boolean> {
  const provider = await startProvider();
  const contestant = startContestant('sqlite', provider.url);
  try {
    const common = { delay: 0, rounds: 5 };
    const { ratio, cpu } = await compare(
      provider.url,
      [
        { ...common, n: 64, times: 1, names: ['fetch', 'sqlite', 'ai', 'ai-model'] },
        { ...common, n: 320, times: 1, rounds: 2, names: ['sqlite'] },
      ],
      { warmUp: [64, 64], progress: () => {} },
    );
    const at = { n: 64, delay: 0 };
    const measureKb = async (command: Command) => ((await contestant.carryOut(command)).bytes as number) / 1024;
    const checks: Check[] = [
      { what: 'processor time per child over `fetch`', figure: ratio('cpuMs', 'sqlite', 'fetch', at).median, atMost: bounds.fetch },
      { what: "an AI SDK model: over the AI SDK's own loop", figure: ratio('cpuMs', 'ai-model', 'ai', at).median, atMost: bounds.ai },
      {
        what: 'processor time per child, n = 320 over n = 64',
        figure: cpu('sqlite', { n: 320, delay: 0 }).median / cpu('sqlite', at).median,
        atMost: bounds.growth,
      },
      { what: 'database KB per child, n = 320', figure: await measureKb({ do: 'database', n: 320 }), atMost: bounds.database },
      { what: 'heap KB per live child', figure: await measureKb({ do: 'heap', n: 128, what: 'live' }), atMost: bounds.live },
      { what: 'heap KB per queued child', figure: await measureKb({ do: 'heap', n: 1000, what: 'queued' }), atMost: bounds.queued },
    ];
    for (const { what, figure, atMost } of checks)
      process.stdout.write(`${figure <= atMost ? 'ok  ' : 'FAIL'} ${what}: ${figure.toFixed(2)} (at most ${atMost})\n`);
    return checks.every(({ figure, atMost }) => figure <= atMost);
  } finally {
    contestant.end();
    provider.end();
  }
}

/** About one and a half times the worst that was measured on a busy machine when they were set. */
const bounds = { fetch: 2.4, ai: 2, growth: 2.2, database: 7, live: 38, queued: 6 };
