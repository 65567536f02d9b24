// The time from the start of `retinue resume` to the next model request of a run of 200 turns whose process was killed, and how much of it any
// command needs to start on the same database.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

const program = resolve(import.meta.dirname, '../bin/retinue.js');
const turns = 200;

export async function measureResume(): Promise<{ total: number; start: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-bench-'));
  const globStep = (n: number) => ({ text: `look ${n}`, calls: [{ tool: 'glob', args: { pattern: `*${n}` } }] });
  const steps = [...Array.from({ length: turns }, (_, n) => globStep(n)), { hang: 'start' }, { text: 'never' }];
  writeFileSync(join(folder, 'script.json'), JSON.stringify({ runs: [{ steps }] }));
  const env = { PATH: process.env.PATH, HOME: folder };
  const run = (...args: string[]) => spawn(process.execPath, [program, ...args], { cwd: folder, env, stdio: 'ignore' });
  const runToEnd = (...args: string[]) => new Promise((done) => run(...args).once('exit', done));
  const limits = ['--max-turns', '500', '--budget-tokens', '1000000000'];
  const first = run('run', '--model', 'script/script.json', ...limits, 'go');
  try {
    await waitForRequests(folder, turns + 1);
    first.kill('SIGKILL');
    const start = await measureTime(() => runToEnd('ps', '--json'));
    const began = performance.now();
    const second = run('resume', '--plain');
    await waitForRequests(folder, turns + 2);
    const total = performance.now() - began;
    second.kill('SIGKILL');
    return { total, start };
  } finally {
    first.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureTime(action: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await action();
  return performance.now() - began;
}

async function waitForRequests(folder: string, count: number): Promise<void> {
  for (;;) {
    try {
      const db = new DatabaseSync(join(folder, '.retinue', 'retinue.db'), { readOnly: true });
      const row = db.prepare(`SELECT count(*) AS n FROM facts WHERE type = 'model.asked'`).get() as { n: number };
      db.close();
      if (row.n >= count) return;
    } catch {
      // The database does not exist yet, or is locked: try again.
    }
    await sleep(2);
  }
}
