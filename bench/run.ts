// What the kernel costs: `npm run bench`. Figures are of this machine; ratios carry over. Each figure is the median of several rounds.
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { network } from './network.ts';
import { factsPerSecond, processStarts } from './process.ts';
import { resumeMs } from './resume.ts';
import { withRuntime } from './support.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

const rounds = 5;
/** For the ratio of the stores: on a machine with others at work two neighbouring rounds differ by more than the stores do. */
const pairs = 15;
const children = 1000;

async function childrenPerSecond(kind: 'memory' | 'sqlite'): Promise<number> {
  return withRuntime(kind, async (runtime) => {
    const client = await runtime.client({ limits: { maxConcurrent: 64 } });
    const began = performance.now();
    const runs = await Promise.all(
      Array.from({ length: children }, (_, n) => client.delegate({ task: `say done ${n}`, agent: 'explore' })),
    );
    await Promise.all(runs.map((run) => run.outcome));
    const rate = children / ((performance.now() - began) / 1000);
    await client.close();
    return rate;
  });
}

/** One after the other, so that nothing is left that the last one needs. */
async function heapGrowth(): Promise<number> {
  return withRuntime('sqlite', async (runtime) => {
    const client = async () => {
      const each = await runtime.client();
      for (let n = 0; n < 100; n++) await (await each.delegate({ task: `say done ${n}`, agent: 'explore' })).outcome;
      await each.close();
    };
    await client();
    gc();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < children / 100; n++) await client();
    gc();
    return (process.memoryUsage().heapUsed - before) / 1024 / 1024;
  });
}

async function queued(count: number): Promise<{ mb: number; left: number }> {
  return withRuntime('sqlite', async (runtime) => {
    const client = await runtime.client({ limits: { maxConcurrent: 8 } });
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

function versionMs(): number {
  const began = performance.now();
  execFileSync(process.execPath, [resolve(import.meta.dirname, '../bin/retinue.js'), '--version']);
  return performance.now() - began;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

function line(what: string, value: string, goal: string, ok: boolean): void {
  process.stdout.write(`${ok ? '✓' : '✗'} ${what.padEnd(58)} ${value.padStart(16)}   goal ${goal}\n`);
}

await childrenPerSecond('memory');
await childrenPerSecond('sqlite');
const memory: number[] = [];
const sqlite: number[] = [];
for (let pair = 0; pair < pairs; pair++) {
  memory.push(await childrenPerSecond('memory'));
  sqlite.push(await childrenPerSecond('sqlite'));
}
const ratio = median(sqlite.map((rate, i) => rate / (memory[i] as number)));
line(`${children} children of one parent, all facts in SQLite`, `${median(sqlite).toFixed(0)}/s`, '≥ 1500/s', median(sqlite) >= 1500);
line('the same with the memory store', `${median(memory).toFixed(0)}/s`, '—', true);
line('SQLite against memory: what journaling costs', `${((1 - ratio) * 100).toFixed(0)} %`, '≤ 15 %', ratio >= 0.85);
const grown = await heapGrowth();
line(`heap after ${children} children one after the other`, `${grown.toFixed(1)} MB`, '≤ 20 MB', grown <= 20);
const waiting = await queued(10_000);
line('10,000 queued children: heap while they wait', `${waiting.mb.toFixed(0)} MB`, 'bounded', waiting.left === 0);
const version = median(Array.from({ length: rounds }, versionMs));
line('retinue --version', `${version.toFixed(0)} ms`, '≤ 120 ms', version <= 120);
const net = await network();
line('256 children × 3 tool calls over HTTP: overhead, bare fetch', `${net.bareMs.toFixed(0)} ms`, '—', true);
line('the same loops over node:http', `${net.httpMs.toFixed(0)} ms`, '—', true);
line('the same delegated, every fact in SQLite', `${net.retinueMs.toFixed(0)} ms`, '—', true);
line('delegated against bare', `${net.ratio.toFixed(2)} ×`, '≤ 2 ×', net.ratio <= 2);
line('`retinue run` to its first model request', `${net.firstRequestMs.toFixed(0)} ms`, '≤ 300 ms', net.firstRequestMs <= 300);
const starts = median(await processStarts(9));
line('from `delegate` to the first request of a child process', `${starts.toFixed(0)} ms`, '≤ 250 ms', starts <= 250);
const replayed = await factsPerSecond();
line('replay', `${replayed.toFixed(0)} facts/s`, '≥ 20000/s', replayed >= 20_000);
const resumes = [await resumeMs(), await resumeMs(), await resumeMs()];
const resumed = median(resumes.map(({ total, start }) => total - start));
line('resume of a run of 200 turns to its next request, in all', `${median(resumes.map(({ total }) => total)).toFixed(0)} ms`, '—', true);
line('the same beyond the start of a command on its database', `${resumed.toFixed(0)} ms`, '≤ 200 ms', resumed <= 200);
