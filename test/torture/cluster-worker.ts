// One of the workers that are tortured: a real `retinue worker` that reaches the database through a proxy of its own. When it has died it is started
// again, as a service manager would.
import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { crashPoints, queueCrashPoints } from '../../src/ports/crash.ts';
import type { Random } from '../simulation/random.ts';
import { createProxy } from '../support/postgres/proxy.ts';

/** `crash`: kill -9, and the next process kills itself at a crash point. `part`: nothing goes through the network for longer than a lease. */
export const workerFaults = ['kill', 'crash', 'term', 'stop', 'cut', 'part'] as const;
export type WorkerFault = (typeof workerFaults)[number];

export interface TorturedWorker {
  /** Makes the fault, and resolves when the worker is as it was before. */
  suffer(fault: WorkerFault): Promise<void>;
  /** Asks it to stop, without another start. */
  end(): Promise<void>;
}

export interface TorturedWorkerOptions {
  name: string;
  folder: string;
  env: Record<string, string | undefined>;
  serverUrl: string;
  random: Random;
  /** It killed itself at a crash point. */
  onCrash(point: string): void;
  /** What must not happen. */
  onProblem(what: string): void;
}

const bin = resolve(import.meta.dirname, 'retinue.ts');
/** The lease is lost after 10 s of silence. */
const longerThanLease = { from: 11_500, to: 14_000 };
const graceMs = 3_000;
/** Where a worker comes to while it drives trees. A crash after `queue.take` costs a minute each time, so it is not one of many. */
const armedPoints = crashPoints.filter((point) =>
  /(commit|claim|run\.resumed|run\.started|run\.ended|model\.answered|tool\.(asked|finished|command)|child\.(created|ended)|order\.look)$/.test(
    point,
  ),
);
const queuePoints = queueCrashPoints.filter((point) => !/put_back|after queue\.take/.test(point));

export async function startTorturedWorker(options: TorturedWorkerOptions): Promise<TorturedWorker> {
  const { name, folder, env, random, onCrash, onProblem } = options;
  const proxy = await createProxy(options.serverUrl);
  let child: ChildProcess;
  let exited: Promise<void>;
  /** What this process was told to do, so that its end is no surprise. */
  let expected: 'SIGKILL' | 'SIGTERM' | null = null;
  let isOver = false;

  function start(armed?: string): void {
    const args = [bin, 'worker', '--name', name, '--concurrency', '6', '--grace', `${graceMs / 1000}s`, '--json'];
    const started = spawn(process.execPath, args, {
      cwd: folder,
      env: { ...env, RETINUE_DB: proxy.url, ...(armed && { RETINUE_CRASH: armed }) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-20_000);
    });
    child = started;
    expected = null;
    exited = new Promise((done) => {
      started.on('exit', (code, signal) => {
        const isCrash = armed !== undefined && signal === 'SIGKILL' && expected !== 'SIGKILL';
        const hasStarted = log.includes('"started"');
        if (isCrash) onCrash(armed.replace(/:\d+$/, ''));
        else if (!isExpected({ code, signal, hasStarted })) onProblem(`worker ${name} ended with ${code ?? signal}: ${log.slice(-3_000)}`);
        done();
        if (expected === null && !isOver) setTimeout(() => !isOver && child === started && start(), hasStarted ? 0 : 500);
      });
    });
  }

  function isExpected({ code, signal, hasStarted }: { code: number | null; signal: NodeJS.Signals | null; hasStarted: boolean }): boolean {
    // A worker that cannot reach the database when it starts says so and ends; whoever started it starts it again.
    if (!hasStarted) return signal === null || signal === expected;
    // 143: the database was out of reach for longer than the grace time, so its trees are taken over.
    if (expected === 'SIGTERM') return code === 0 || code === 143;
    return expected !== null && signal === expected;
  }

  async function endWith(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    expected = signal;
    child.kill(signal);
    await exited;
  }

  const cutShortly = async () => {
    proxy.isDown = random.hit(0.5);
    proxy.cutAll();
    await sleep(random.int(0, 2_000));
    proxy.isDown = false;
  };

  async function part(): Promise<void> {
    proxy.onData = () => 'hold';
    await sleep(random.int(longerThanLease.from, longerThanLease.to));
    proxy.onData = () => 'pass';
    // What was on its way arrives late, or never.
    if (random.hit(0.5)) proxy.release();
    proxy.cutAll();
  }

  async function stop(): Promise<void> {
    child.kill('SIGSTOP');
    await sleep(random.int(longerThanLease.from, longerThanLease.to));
    child.kill('SIGCONT');
  }

  async function restart(signal: 'SIGKILL' | 'SIGTERM', armed?: string): Promise<void> {
    await endWith(signal);
    start(armed);
  }

  const faults: Record<WorkerFault, () => Promise<void>> = {
    kill: () => restart('SIGKILL'),
    crash: () => restart('SIGKILL', `${random.pick(random.hit(0.25) ? queuePoints : armedPoints)}:${random.int(1, 4)}`),
    term: () => restart('SIGTERM'),
    cut: cutShortly,
    stop,
    part,
  };

  start();
  const killAtExit = () => void child.kill('SIGKILL');
  process.on('exit', killAtExit);
  return {
    suffer: (fault) => faults[fault](),
    async end() {
      isOver = true;
      await endWith('SIGTERM');
      process.off('exit', killAtExit);
      await proxy.close();
    },
  };
}
