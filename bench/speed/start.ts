// From the start of a program to its first model request, for a program of one `fetch`, one that uses the library with SQLite, and `retinue run`. The
// programs use the built package, with Node's compile cache where they would have one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Provider } from './processes.ts';
import { type Spread, spread } from './statistics.ts';

const root = resolve(import.meta.dirname, '../..');
const distFile = (name: string) => pathToFileURL(join(root, 'dist', name)).href;

const fetchProgram = (url: string) =>
  `const response = await fetch('${url}/v1/chat/completions', { method: 'POST', body: '{}' }); await response.text();`;
const libraryProgram = `
  import { createRetinue } from '${distFile('index.js')}';
  import { openSqliteStore } from '${distFile('sqlite.js')}';
  const store = await openSqliteStore({ path: 'start.db' });
  const retinue = createRetinue({ model: 'openai-compatible/x', store });
  await (await retinue.delegate({ task: 'turns: 0', agent: 'explore' })).outcome;
  await retinue.close();
  await store.close();`;

export interface StartFigures {
  fetch: Spread;
  library: Spread;
  /** The library's time beyond that of `fetch`, pair by pair. */
  added: Spread;
  command: Spread;
}

export async function measureStarts(provider: Provider, rounds: number): Promise<StartFigures> {
  if (!existsSync(join(root, 'dist/cli.js'))) throw new Error('the package is not built: run `npm run build` first');
  const folder = mkdtempSync(join(tmpdir(), 'retinue-bench-'));
  const url = `${provider.url}/0`;
  const env = { PATH: process.env.PATH, HOME: folder, RETINUE_BASE_URL: url };
  const programs = {
    fetch: [write('fetch.mjs', fetchProgram(url))],
    library: [write('library.mjs', libraryProgram)],
    command: [join(root, 'bin/retinue.js'), 'run', '--model', 'openai-compatible/x', 'turns: 0'],
  };
  const times: Record<keyof typeof programs, number[]> = { fetch: [], library: [], command: [] };

  function write(name: string, text: string): string {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  }
  async function measure(args: string[]): Promise<number> {
    const request = provider.nextRequest();
    const start = performance.timeOrigin + performance.now();
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: 'ignore' });
    const ended = once(child, 'exit');
    const at = await request;
    // To its end, because Node writes its compile cache when a process exits.
    await ended;
    return at - start;
  }

  try {
    // The first round is not counted: it makes the database and the compile cache.
    for (let round = 0; round <= rounds; round++)
      for (const [name, args] of Object.entries(programs)) {
        const ms = await measure(args);
        if (round > 0) times[name as keyof typeof programs].push(ms);
      }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const added = times.library.map((ms, i) => ms - (times.fetch[i] as number));
  return { fetch: spread(times.fetch), library: spread(times.library), added: spread(added), command: spread(times.command) };
}
