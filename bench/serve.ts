// `retinue serve` as users start it: how old facts are when they reach a reader of the event stream, what 500 readers cost the runs, and what the server
// uses while nothing happens. The runs are children of one parent with a scripted model that takes a second for each call.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReaderFigures } from './serve-readers.ts';

const children = 100;
const callMs = 1000;
const turns = 4;
const tasksPerCall = 16;
const manyReaders = 500;

export interface ServeFigures {
  idle: { mb: number; cpuMs: number; seconds: number };
  delay: { median: number; p99: number; facts: number };
  /** Duration of the tree in milliseconds. */
  runMs: { alone: number; watched: number };
  watched: { delay: number; mb: number; cut: number };
}

export interface Server {
  url: string;
  token: string;
  /** Opens the dashboard. */
  link: string;
  pid: number;
}

export async function measureServe({ rounds, idleSeconds }: { rounds: number; idleSeconds: number }): Promise<ServeFigures> {
  return withServer(async (server) => {
    const idle = await measureIdle(server.pid, idleSeconds);
    await runTree(server);
    const one = await withReaders(server, 1, () => runTree(server));
    const [alone, watched]: [number[], number[]] = [[], []];
    const many: ReaderFigures[] = [];
    for (let round = 0; round < rounds; round++) {
      alone.push(await runTree(server));
      const { result, figures } = await withReaders(server, manyReaders, () => runTree(server));
      watched.push(result);
      many.push(figures);
    }
    return {
      idle,
      delay: { median: percentile(one.figures.delays, 0.5), p99: percentile(one.figures.delays, 0.99), facts: one.figures.delays.length },
      runMs: { alone: percentile(alone, 0.5), watched: percentile(watched, 0.5) },
      watched: {
        delay: percentile(
          many.flatMap(({ delays }) => delays),
          0.5,
        ),
        mb: percentile(
          many.map(({ bytes }) => bytes / 1e6),
          0.5,
        ),
        cut: many.reduce((sum, { cut }) => sum + cut, 0),
      },
    };
  });
}

/** A home, a workspace and a server of their own. */
export async function withServer<T>(use: (server: Server) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-bench-'));
  const config = join(folder, '.config', 'retinue');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'config.json'), JSON.stringify({ limits: { maxRuns: 200, maxConcurrent: children } }));
  writeFileSync(join(folder, 'script.json'), JSON.stringify(createScript()));
  const bin = resolve(import.meta.dirname, '../bin/retinue.js');
  const env = { PATH: process.env.PATH, HOME: folder, RETINUE_MODEL: 'script/script.json' };
  const child = spawn(process.execPath, [bin, 'serve', '--json'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const { url, token, link } = JSON.parse(await readLine(child)) as Pick<Server, 'url' | 'token' | 'link'>;
    return await use({ url, token, link, pid: await findProgram(child.pid as number) });
  } finally {
    child.kill('SIGINT');
    if (child.exitCode === null) await once(child, 'exit');
    rmSync(folder, { recursive: true, force: true });
  }
}

function createScript(): object {
  const tasks = Array.from({ length: children }, (_, i) => ({ task: `look around ${i}`, label: `child ${i}`, agent: 'explore' }));
  const calls = Array.from({ length: Math.ceil(children / tasksPerCall) }, (_, i) => ({
    tool: 'delegate',
    args: { tasks: tasks.slice(i * tasksPerCall, (i + 1) * tasksPerCall), wait_seconds: 120 },
  }));
  const look = { delayMs: callMs, calls: [{ tool: 'list', args: { path: '.' } }], repeat: turns - 1 };
  return {
    runs: [
      { when: { agent: 'general' }, steps: [{ calls }, { text: 'done' }] },
      { when: { agent: 'explore' }, times: children, steps: [look, { delayMs: callMs, text: 'I have looked around. '.repeat(20) }] },
    ],
  };
}

/** Starts one tree over HTTP and returns its duration. */
async function runTree(server: Server): Promise<number> {
  return waitForTree(server, await startTree(server));
}

const headersOf = ({ token }: Server) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });

/** The id of its root. */
export async function startTree(server: Server): Promise<string> {
  const body = JSON.stringify({ task: 'survey' });
  const started = await fetch(`${server.url}/api/runs`, { method: 'POST', headers: headersOf(server), body });
  if (!started.ok) throw new Error(await started.text());
  return ((await started.json()) as { runId: string }).runId;
}

/** Its duration in milliseconds, once it has completed. */
export async function waitForTree(server: Server, runId: string): Promise<number> {
  const headers = headersOf(server);
  for (;;) {
    const { outcome } = (await (await fetch(`${server.url}/api/runs/${runId}`, { headers })).json()) as {
      outcome: { status: string; durationMs: number; error: unknown } | null;
    };
    if (outcome?.status === 'completed') return outcome.durationMs;
    if (outcome) throw new Error(JSON.stringify(outcome.error));
    await sleep(500);
  }
}

async function withReaders<T>(
  { url, token }: Server,
  count: number,
  use: () => Promise<T>,
): Promise<{ result: T; figures: ReaderFigures }> {
  const program = resolve(import.meta.dirname, 'serve-readers.ts');
  const readers = spawn(process.execPath, [program, url, token, String(count)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: readers.stdout })[Symbol.asyncIterator]();
  await lines.next();
  const result = await use();
  readers.stdin.end();
  const figures = JSON.parse(String((await lines.next()).value)) as ReaderFigures;
  await once(readers, 'exit');
  return { result, figures };
}

async function measureIdle(pid: number, seconds: number): Promise<ServeFigures['idle']> {
  // Start-up work and the first garbage collections.
  await sleep(3000);
  const before = cpuMs(pid);
  await sleep(seconds * 1000);
  const kb = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  return { mb: kb / 1024, cpuMs: cpuMs(pid) - before, seconds };
}

/** User and system time of a process (Linux, 100 ticks a second). */
function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** The launcher may start the program in a child with another Node. */
async function findProgram(pid: number): Promise<number> {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return child === undefined || child === '' ? pid : Number(child);
}

async function readLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) return line;
  throw new Error('the server did not start');
}

export function percentile(values: number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN;
}
