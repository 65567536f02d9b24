// From the start of `retinue resume` to the next model request of a run of 200 turns whose process was killed, and what of that any command on
// the same database takes to start: the program, its settings, the database.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

const program = resolve(import.meta.dirname, '../bin/retinue.js');
const turns = 200;

export async function resumeMs(): Promise<{ total: number; start: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'retinue-bench-'));
  const look = (n: number) => ({ text: `look ${n}`, calls: [{ tool: 'glob', args: { pattern: `*${n}` } }] });
  const steps = [...Array.from({ length: turns }, (_, n) => look(n)), { hang: 'start' }, { text: 'never' }];
  writeFileSync(join(folder, 'script.json'), JSON.stringify({ runs: [{ steps }] }));
  const env = { PATH: process.env.PATH, HOME: folder };
  const run = (...args: string[]) => spawn(process.execPath, [program, ...args], { cwd: folder, env, stdio: 'ignore' });
  const startOf = (...args: string[]) => new Promise((done) => run(...args).once('exit', done));
  const limits = ['--max-turns', '500', '--budget-tokens', '1000000000'];
  const first = run('run', '--model', 'script/script.json', ...limits, 'go');
  try {
    await asked(folder, turns + 1);
    first.kill('SIGKILL');
    const start = await timed(() => startOf('ps', '--json'));
    const began = performance.now();
    const second = run('resume', '--plain');
    await asked(folder, turns + 2);
    const took = performance.now() - began;
    second.kill('SIGKILL');
    return { total: took, start };
  } finally {
    first.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await act();
  return performance.now() - began;
}

async function asked(folder: string, count: number): Promise<void> {
  for (;;) {
    try {
      const db = new DatabaseSync(join(folder, '.retinue', 'retinue.db'), { readOnly: true });
      const row = db.prepare(`SELECT count(*) AS n FROM facts WHERE type = 'model.asked'`).get() as { n: number };
      db.close();
      if (row.n >= count) return;
    } catch {
      // Not there yet.
    }
    await sleep(2);
  }
}
