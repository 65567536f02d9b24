// The real program in real processes, on a real database in a folder of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoredFact } from '../../src/contract/fact.ts';
import { openSqliteStore } from '../../src/stores/sqlite/create.ts';
import { outputOf } from '../support/output.ts';

const bin = resolve(import.meta.dirname, '../../bin/retinue.js');

export interface Finished {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

export interface Running {
  process: ChildProcess;
  finished: Promise<Finished>;
  /** Standard output as soon as it satisfies `holds`. Rejects if the process ends before. */
  untilOutput(holds: (out: string) => boolean): Promise<string>;
}

export interface Place {
  folder: string;
  start(...args: string[]): Running;
  /** `start` with more variables. */
  startWith(variables: Record<string, string>, ...args: string[]): Running;
  run(...args: string[]): Promise<Finished>;
  /** Runs `retinue … --json` until the value satisfies `holds`. */
  until<T>(args: string[], holds: (value: T) => boolean): Promise<T>;
  /** Reads the facts of the database, in this process, until they satisfy `holds`: far sooner and cheaper than a command could. */
  facts(holds: (facts: StoredFact[]) => boolean): Promise<StoredFact[]>;
  [Symbol.dispose](): void;
}

export function createPlace(script: object, more: Record<string, string> = {}): Place {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-cli-'));
  writeFileSync(join(folder, 'script.json'), JSON.stringify(script));
  const running = new Set<ChildProcess>();

  const start = (...args: string[]) => startWith({}, ...args);

  function startWith(variables: Record<string, string>, ...args: string[]): Running {
    const env = { PATH: process.env.PATH, HOME: folder, RETINUE_MODEL: 'script/script.json', NO_COLOR: '1', ...more, ...variables };
    const child = spawn(process.execPath, [bin, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    const said = outputOf(child);
    const finished = new Promise<Finished>((done) => {
      child.on('close', (code, signal) => {
        running.delete(child);
        done({ code, signal, ...said });
      });
    });
    const untilOutput = (holds: (out: string) => boolean) =>
      new Promise<string>((resolve, reject) => {
        const check = () => holds(said.out) && resolve(said.out);
        child.stdout.on('data', check);
        void finished.then(({ err }) => reject(new Error(`the process has ended: ${err}`)));
        check();
      });
    return { process: child, finished, untilOutput };
  }

  const run = (...args: string[]) => start(...args).finished;

  return {
    folder,
    start,
    startWith,
    run,
    async until(args, holds) {
      for (;;) {
        const before = databaseState(folder);
        const { out, err } = await run(...args, '--json');
        const value = JSON.parse(out || 'null');
        if (value !== null && holds(value)) return value;
        if (err.includes('internal')) throw new Error(err);
        // Another look is worth a process only when something was written.
        for (let ms = 0; ms < 250 && databaseState(folder) === before; ms += 10) await sleep(10);
      }
    },
    async facts(holds) {
      const path = join(folder, '.retinue', 'retinue.db');
      for (;;) {
        // Opened here first, it would be made here.
        const found = existsSync(path) ? await readFacts(path) : [];
        if (holds(found)) return found;
        await sleep(10);
      }
    },
    [Symbol.dispose]() {
      for (const child of running) child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function databaseState(folder: string): string {
  const files = ['retinue.db', 'retinue.db-wal'].map((name) => statSync(join(folder, '.retinue', name), { throwIfNoEntry: false }));
  return files.map((file) => `${file?.size} ${file?.mtimeMs}`).join();
}

async function readFacts(path: string): Promise<StoredFact[]> {
  const store = await openSqliteStore({ path });
  try {
    return await store.facts({});
  } finally {
    await store.close();
  }
}
