// What `retinue top` costs while 500 runs are live: when nothing happens, and while 100 of them stream text. The program runs on a real
// terminal, which `script` of util-linux makes. Its processor time comes from /proc, so this needs Linux.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { withRuntime } from './support.ts';

const program = resolve(import.meta.dirname, '../bin/retinue.js');
export const screenRuns = 500;
export const streamingRuns = 100;
const pieceMs = 100;
const hourMs = 3_600_000;
/** Clock ticks per second in /proc, the same on all Linux systems. */
const ticksPerSecond = 100;

export interface ScreenFigures {
  /** Part of a core, and bytes per second to the terminal. */
  quiet: { cpu: number; bytes: number };
  streaming: { cpu: number; bytes: number };
  /** From the start of the program to the first frame with all runs. */
  startMs: number;
}

type Controller = ReadableStreamDefaultController<LanguageModelV4StreamPart>;

export async function measureScreen(seconds: number): Promise<ScreenFigures> {
  const open: Controller[] = [];
  /** Starts to answer and never ends. */
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'silent',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('not used')),
    doStream: async () => ({ stream: new ReadableStream({ start: (controller) => void open.push(controller) }) }),
  };
  const handle = { id: 'bench/silent', lane: 'bench', model, contextWindow: null, maxOutputTokens: null, price: () => 0 };
  return withRuntime(
    'sqlite',
    async (runtime, store, folder) => {
      // As the API does.
      runtime.listen((event) => {
        if (event.type === 'delta') store.publish(event);
      });
      const client = await runtime.openClient({
        limits: { maxConcurrent: 600, maxRuns: 1000, timeoutMs: hourMs, firstByteMs: hourMs, idleMs: hourMs },
      });
      for (let n = 0; n < screenRuns; n++) await client.delegate({ task: `wait ${n}`, label: `part ${n}`, agent: 'explore' });
      const figures = await measureTop(folder, seconds, () => streamText(open.slice(0, streamingRuns)));
      await client.close();
      return figures;
    },
    { models: { resolve: async () => handle }, slots: 600 },
  );
}

/** Returns a function that stops it. */
function streamText(controllers: Controller[]): () => void {
  for (const controller of controllers) controller.enqueue({ type: 'text-start', id: '1' });
  const timer = setInterval(() => {
    for (const controller of controllers) controller.enqueue({ type: 'text-delta', id: '1', delta: 'some words ' });
  }, pieceMs);
  return () => clearInterval(timer);
}

async function measureTop(folder: string, seconds: number, startStreaming: () => () => void): Promise<ScreenFigures> {
  const pidFile = join(folder, 'pid');
  const command = `stty cols 120 rows 40; echo $$ > ${pidFile}; exec ${process.execPath} ${program} top --adopt --db ${join(folder, 'bench.db')}`;
  const env = { PATH: process.env.PATH, HOME: folder, TERM: 'xterm-256color', SHELL: '/bin/sh' };
  const began = performance.now();
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const measure = async () => {
    await sleep(5_000);
    const pid = existsSync(pidFile) ? readFileSync(pidFile, 'utf8').trim() : '';
    const [before, size] = [processorTicks(pid), output.length];
    await sleep(seconds * 1000);
    return { cpu: (processorTicks(pid) - before) / ticksPerSecond / seconds, bytes: (output.length - size) / seconds };
  };
  try {
    while (!output.includes(`${screenRuns + 1} runs`)) await sleep(20);
    const startMs = performance.now() - began;
    const quiet = await measure();
    // The first one of the runs that stream is open, so that its text is drawn.
    terminal.stdin.write('d');
    terminal.stdin.write('\r');
    const stop = startStreaming();
    const streaming = await measure();
    stop();
    return { quiet, streaming, startMs };
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
