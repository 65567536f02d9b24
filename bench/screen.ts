// What `retinue top` costs while 500 runs are live and nothing happens: `node bench/screen.ts [SECONDS]`. The program runs on a real terminal, which
// `script` of util-linux makes. Its processor time comes from /proc, so this needs Linux.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { withRuntime } from './support.ts';

const program = resolve(import.meta.dirname, '../bin/retinue.js');
const runs = 500;
const seconds = Number(process.argv[2] ?? 20);
/** Clock ticks per second in /proc, the same on all Linux systems. */
const ticksPerSecond = 100;

/** Starts to answer and never ends. */
const silentModel: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'bench',
  modelId: 'silent',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('not used')),
  doStream: async () => ({ stream: new ReadableStream<LanguageModelV4StreamPart>() }),
};
const handle = { id: 'bench/silent', lane: 'bench', model: silentModel, contextWindow: null, maxOutputTokens: null, price: () => 0 };

await withRuntime(
  'sqlite',
  async (runtime, _, folder) => {
    const client = await runtime.client({ limits: { maxConcurrent: 600, maxRuns: 1000, timeoutMs: 3_600_000 } });
    for (let n = 0; n < runs; n++) await client.delegate({ task: `wait ${n}`, label: `part ${n}`, agent: 'explore' });
    const { cpu, bytes, startMs } = await measureTop(folder);
    const ok = cpu <= 5;
    process.stdout.write(
      `${ok ? '✓' : '✗'} retinue top with ${runs} live runs, when nothing changes: ${cpu.toFixed(1)} % of a core   goal ≤ 5 %\n`,
    );
    process.stdout.write(
      `  ${(bytes / seconds).toFixed(0)} bytes/s to the terminal (elapsed times); first frame with all runs after ${startMs.toFixed(0)} ms\n`,
    );
    await client.close();
  },
  { models: { resolve: async () => handle }, slots: 600 },
);

async function measureTop(folder: string): Promise<{ cpu: number; bytes: number; startMs: number }> {
  const pidFile = join(folder, 'pid');
  const command = `stty cols 120 rows 40; echo $$ > ${pidFile}; exec ${process.execPath} ${program} top --adopt --db ${join(folder, 'bench.db')}`;
  const env = { PATH: process.env.PATH, HOME: folder, TERM: 'xterm-256color', SHELL: '/bin/sh' };
  const began = performance.now();
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  try {
    while (!output.includes(`${runs + 1} runs`)) await sleep(20);
    const startMs = performance.now() - began;
    await sleep(5_000);
    const pid = existsSync(pidFile) ? readFileSync(pidFile, 'utf8').trim() : '';
    const [before, size] = [processorTicks(pid), output.length];
    await sleep(seconds * 1000);
    const cpu = ((processorTicks(pid) - before) / ticksPerSecond / seconds) * 100;
    return { cpu, bytes: output.length - size, startMs };
  } finally {
    terminal.stdin.write('\x03');
    await new Promise((done) => terminal.once('close', done));
  }
}

function processorTicks(pid: string): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
