// `retinue run` with a parent that delegates: from its first request to its end, beyond the time of its six model calls in a row.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Provider } from './processes.ts';
import { type Spread, spread } from './statistics.ts';

const program = resolve(import.meta.dirname, '../../bin/retinue.js');
const callsInRow = 6;

export async function measureCommandLine(provider: Provider, n: number, delay: number, rounds: number): Promise<Spread> {
  const home = mkdtempSync(join(tmpdir(), 'retinue-bench-'));
  const work = join(home, 'work');
  const config = join(home, '.config', 'retinue');
  for (const folder of [work, config]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(config, 'config.json'), JSON.stringify({ limits: { maxRuns: 10_000, maxConcurrent: 4096, maxTokens: 100_000_000 } }));
  const env = { PATH: process.env.PATH, HOME: home, RETINUE_BASE_URL: `${provider.url}/${delay}` };
  const times: number[] = [];
  try {
    for (let round = 0; round <= rounds; round++) {
      const request = provider.nextRequest();
      const child = spawn(process.execPath, [program, 'run', '--json', '--model', 'openai-compatible/x', `children: ${n}`], {
        cwd: work,
        env,
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      const ended = once(child, 'exit');
      const at = await request;
      const [code] = await ended;
      if (code !== 0) throw new Error(`\`retinue run\` ended with ${code}`);
      if (round > 0) times.push(performance.timeOrigin + performance.now() - at - callsInRow * delay);
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
  return spread(times);
}
