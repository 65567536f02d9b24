// `npm run bench` prints the table of speed/ (`npm run bench -- speed --largest 256` without the large cases, `--short`: a small form that fails on a regression, which the tests run), `npm run bench -- all` the other
// figures of docs/performance.md, and `npm run bench -- NAME` one group of them. Absolute figures are valid for one machine; ratios are comparable.
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { measureAcp } from './acp.ts';
import { measureCluster } from './cluster.ts';
import { measureGate } from './gate.ts';
import { measurePage } from './page.ts';
import { measureProcessStarts, measureReplay } from './process.ts';
import { measureResume } from './resume.ts';
import { measureScreen, screenRuns, streamingRuns } from './screen.ts';
import { measureServe } from './serve.ts';
import { printShort } from './speed/short.ts';
import { printSpeed } from './speed/speed.ts';
import { withRuntime } from './support.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

const rounds = 5;
/** For the ratio of the stores: on a busy machine, two rounds differ by more than the stores do. */
const pairs = 15;
const children = 1000;

async function measureChildren(kind: 'memory' | 'sqlite'): Promise<number> {
  return withRuntime(kind, async (runtime) => {
    const client = await runtime.openClient({ limits: { maxConcurrent: 64 } });
    const start = performance.now();
    const runs = await Promise.all(
      Array.from({ length: children }, (_, n) => client.delegate({ task: `say done ${n}`, agent: 'explore' })),
    );
    await Promise.all(runs.map((run) => run.outcome));
    const rate = children / ((performance.now() - start) / 1000);
    await client.close();
    return rate;
  });
}

/** The children run one after the other, so nothing of them should remain in memory. */
async function measureHeapGrowth(): Promise<number> {
  return withRuntime('sqlite', async (runtime) => {
    const runHundred = async () => {
      const client = await runtime.openClient();
      for (let n = 0; n < 100; n++) await (await client.delegate({ task: `say done ${n}`, agent: 'explore' })).outcome;
      await client.close();
    };
    await runHundred();
    gc();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < children / 100; n++) await runHundred();
    gc();
    return (process.memoryUsage().heapUsed - before) / 1024 / 1024;
  });
}

async function measureQueue(count: number): Promise<{ mb: number; left: number }> {
  return withRuntime('sqlite', async (runtime) => {
    const client = await runtime.openClient({ limits: { maxConcurrent: 8 } });
    gc();
    const before = process.memoryUsage().heapUsed;
    const runs = await Promise.all(Array.from({ length: count }, (_, n) => client.delegate({ task: `say done ${n}`, agent: 'explore' })));
    gc();
    const mb = (process.memoryUsage().heapUsed - before) / 1024 / 1024;
    await Promise.all(runs.map((run) => run.outcome));
    const { queued: waiting, active } = runtime.stats();
    await client.close();
    return { mb, left: waiting + active };
  });
}

function measureVersion(): number {
  const start = performance.now();
  execFileSync(process.execPath, [resolve(import.meta.dirname, '../bin/retinue.js'), '--version']);
  return performance.now() - start;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

function printLine(what: string, value: string, goal: string, ok: boolean): void {
  process.stdout.write(`${ok ? '✓' : '✗'} ${what.padEnd(60)} ${value.padStart(16)}   goal ${goal}\n`);
}

/** `npm run bench -- serve` measures only this, for longer. */
async function printServe(options: { rounds: number; idleSeconds: number }): Promise<void> {
  const { idle, delay, runMs, watched } = await measureServe(options);
  const cpu = `${((idle.cpuMs / (idle.seconds * 1000)) * 100).toFixed(1)} %`;
  printLine('`retinue serve` without requests: memory', `${idle.mb.toFixed(0)} MB`, '≤ 110 MB', idle.mb <= 110);
  printLine(`the same: processor time within ${idle.seconds} s`, cpu, '≤ 0.5 %', idle.cpuMs <= idle.seconds * 5);
  printLine('100 running children: from a fact to a reader of events', `${delay.median} ms`, '≤ 100 ms', delay.median <= 100);
  printLine('the same, 99 of 100 facts', `${delay.p99} ms`, '—', true);
  const slower = runMs.watched / runMs.alone - 1;
  printLine('500 readers: how much longer the same tree takes', `${(slower * 100).toFixed(0)} %`, '≤ 10 %', slower <= 0.1);
  printLine('500 readers: from a fact to a reader', `${watched.delay} ms`, '≤ 100 ms', watched.delay <= 100);
  printLine('500 readers: disconnected because they were slow', String(watched.cut), '0', watched.cut === 0);
}

/** `npm run bench -- screen` measures only this, for longer. */
async function printScreen(seconds: number): Promise<void> {
  const { quiet, streaming, startMs } = await measureScreen(seconds);
  const percent = ({ cpu }: { cpu: number }) => `${(cpu * 100).toFixed(1)} %`;
  printLine(`\`retinue top\` with ${screenRuns} live runs, nothing changes: of a core`, percent(quiet), '≤ 5 %', quiet.cpu <= 0.05);
  printLine('the same: bytes to the terminal', `${quiet.bytes.toFixed(0)}/s`, '—', true);
  printLine(`${streamingRuns} of them stream text, one is open: of a core`, percent(streaming), '—', true);
  printLine('the same: bytes to the terminal', `${streaming.bytes.toFixed(0)}/s`, '—', true);
  printLine('from the start of `retinue top` to its first frame with all runs', `${startMs.toFixed(0)} ms`, '—', true);
}

/** `npm run bench -- page` measures only this, for longer. */
async function printPage(options: { rounds: number }): Promise<void> {
  const { delay, scriptBytes } = await measurePage(options);
  printLine('100 running children: from a fact to its frame in a browser', `${delay.median} ms`, '≤ 100 ms', delay.median <= 100);
  printLine(`the same, 99 of 100 of ${delay.facts} facts`, `${delay.p99} ms`, '—', true);
  printLine(
    'first load of the dashboard: script, compressed',
    `${(scriptBytes / 1024).toFixed(0)} KB`,
    '≤ 150 KB',
    scriptBytes <= 150 * 1024,
  );
}

/** `npm run bench -- acp` measures only this, for longer. */
async function printAcp(starts: number): Promise<void> {
  const figures: Awaited<ReturnType<typeof measureAcp>>[] = [];
  for (let n = 0; n < starts; n++) figures.push(await measureAcp());
  const of = (pick: (figure: (typeof figures)[number]) => number) => median(figures.map(pick));
  const [session, mb] = [of(({ sessionMs }) => sessionMs), of((figure) => figure.mb)];
  const [silent, stubborn] = [of(({ cancelMs }) => cancelMs.model), of(({ cancelMs }) => cancelMs.command)];
  printLine('`retinue acp`: from its start to a session', `${session.toFixed(0)} ms`, '≤ 300 ms', session <= 300);
  printLine('the same: from the first prompt to its first text', `${of(({ firstTextMs }) => firstTextMs).toFixed(0)} ms`, '—', true);
  printLine('the same: memory after a prompt', `${mb.toFixed(0)} MB`, '≤ 110 MB', mb <= 110);
  printLine('the same: cancelled while the model is silent', `${silent.toFixed(0)} ms`, '≤ 100 ms', silent <= 100);
  printLine('the same: cancelled while a command ignores signals', `${stubborn.toFixed(0)} ms`, '≤ 100 ms', stubborn <= 100);
}

/** `npm run bench -- gate` measures only this, for longer. */
async function printGate(calls: number): Promise<void> {
  for (const kilobytes of [1, 100]) {
    const { directMs, gatedMs } = await measureGate({ calls, bytes: kilobytes * 1000 });
    const overhead = gatedMs - directMs;
    printLine(`model gate, requests of ${kilobytes} KB: a call beyond a direct one`, `${overhead.toFixed(2)} ms`, '≤ 2 ms', overhead <= 2);
    printLine('the same: a call over the gate', `${gatedMs.toFixed(2)} ms`, '—', true);
  }
}

/** `npm run bench -- cluster` measures only this, for longer. */
async function printCluster(options: { rounds: number; idleSeconds: number }): Promise<void> {
  const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
  const seconds = (times: number[]) => times.map((ms) => (ms / 1000).toFixed(1)).join(' ');
  const isInTime = (times: number[]) => times.every((ms) => ms <= 15_000);
  await measureCluster(options, ({ idle, takeover, scale, rates = [], journal }) => {
    if (idle) {
      printLine('a worker without trees: queries', `${idle.queries.toFixed(2)}/s`, '≤ 2/s', idle.queries <= 2);
      printLine('the same: memory', `${idle.mb.toFixed(0)} MB`, '≤ 110 MB', idle.mb <= 110);
    }
    if (takeover) {
      printLine('kill -9 of a worker: until another one continues, seconds', seconds(takeover.kill), '≤ 15 s', isInTime(takeover.kill));
      printLine('a worker that hangs: until another one continues, seconds', seconds(takeover.stop), '≤ 15 s', isInTime(takeover.stop));
    }
    if (scale) {
      const factor = scale.two / scale.one;
      printLine('one worker, model of 200 ms, 8 trees at a time', `${scale.one.toFixed(1)} trees/s`, '—', true);
      printLine('two workers', `${scale.two.toFixed(1)} trees/s`, '—', true);
      printLine('the second worker', `${factor.toFixed(2)} ×`, '≥ 1.7 ×', factor >= 1.7);
    }
    for (const { name, trees, facts } of rates) {
      printLine(`trees of one run, model that answers at once: ${name}`, `${trees.toFixed(0)} trees/s`, '—', true);
      printLine('the same', `${facts.toFixed(0)} facts/s`, '—', true);
    }
    if (journal) {
      printLine(
        '256 children × 3 tool calls, 200 ms: storing in PostgreSQL',
        percent(journal.postgres),
        '≤ 25 %',
        journal.postgres <= 0.25,
      );
      printLine('the same in SQLite', percent(journal.sqlite), '—', true);
    }
  });
}

if (process.argv.includes('--short')) process.exit((await printShort()) ? 0 : 1);
if (process.argv[2] === undefined || process.argv[2] === 'speed') {
  const largest = process.argv.indexOf('--largest');
  await printSpeed(largest === -1 ? undefined : Number(process.argv[largest + 1]));
  process.exit(0);
}
if (process.argv[2] === 'acp') {
  await printAcp(5);
  process.exit(0);
}
if (process.argv[2] === 'gate') {
  await printGate(450);
  process.exit(0);
}
if (process.argv[2] === 'cluster') {
  await printCluster({ rounds: 3, idleSeconds: 60 });
  process.exit(0);
}
if (process.argv[2] === 'screen') {
  await printScreen(20);
  process.exit(0);
}
if (process.argv[2] === 'page') {
  await printPage({ rounds: 3 });
  process.exit(0);
}
if (process.argv[2] === 'serve') {
  await printServe({ rounds: 3, idleSeconds: 30 });
  process.exit(0);
}
await measureChildren('memory');
await measureChildren('sqlite');
const memory: number[] = [];
const sqlite: number[] = [];
for (let pair = 0; pair < pairs; pair++) {
  memory.push(await measureChildren('memory'));
  sqlite.push(await measureChildren('sqlite'));
}
const ratio = median(sqlite.map((rate, i) => rate / (memory[i] as number)));
printLine(`${children} children of one parent, all facts in SQLite`, `${median(sqlite).toFixed(0)}/s`, '≥ 1500/s', median(sqlite) >= 1500);
printLine('the same with the memory store', `${median(memory).toFixed(0)}/s`, '—', true);
printLine('SQLite compared with memory: the cost of the journal', `${((1 - ratio) * 100).toFixed(0)} %`, '≤ 15 %', ratio >= 0.85);
const grown = await measureHeapGrowth();
printLine(`heap growth after ${children} children in sequence`, `${grown.toFixed(1)} MB`, '≤ 20 MB', grown <= 20);
const waiting = await measureQueue(10_000);
printLine('10,000 queued children: heap while they wait', `${waiting.mb.toFixed(0)} MB`, 'bounded', waiting.left === 0);
const version = median(Array.from({ length: rounds }, measureVersion));
printLine('retinue --version', `${version.toFixed(0)} ms`, '≤ 120 ms', version <= 120);
const starts = median(await measureProcessStarts(9));
printLine('from `delegate` to the first request of a child process', `${starts.toFixed(0)} ms`, '≤ 250 ms', starts <= 250);
const replayed = await measureReplay();
printLine('replay', `${replayed.toFixed(0)} facts/s`, '≥ 20000/s', replayed >= 20_000);
const resumes = [await measureResume(), await measureResume(), await measureResume()];
const resumed = median(resumes.map(({ total, start }) => total - start));
printLine(
  'resume of a run of 200 turns to its next request, total',
  `${median(resumes.map(({ total }) => total)).toFixed(0)} ms`,
  '—',
  true,
);
printLine('the same without the start of a command on its database', `${resumed.toFixed(0)} ms`, '≤ 200 ms', resumed <= 200);
await printServe({ rounds: 1, idleSeconds: 5 });
await printScreen(10);
await printPage({ rounds: 1 });
await printAcp(3);
await printGate(150);
await printCluster({ rounds: 1, idleSeconds: 20 });
