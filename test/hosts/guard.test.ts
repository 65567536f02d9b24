// A supervisor that is killed with -9 takes everything that it started along, whatever that did to get away.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { noneLeft, processesWith, program } from './support.ts';

describe.runIf(process.platform === 'linux')('kill -9 of the supervisor', () => {
  it.each(['inline', 'process'])('leaves no process behind (%s)', async (host) => {
    const folder = mkdtempSync(join(tmpdir(), 'retinue-guard-'));
    const mark = `8${process.pid}.${host.length}`;
    const command = `(setsid sh -c 'sleep ${mark} & sleep ${mark}' &) ; trap "" TERM; echo $PPID > pid; sleep ${mark}`;
    const script = { runs: [{ steps: [{ calls: [{ tool: 'bash', args: { command } }] }] }] };
    writeFileSync(join(folder, 's.json'), JSON.stringify(script));
    const args = [program, 'run', '--host', host, '--allow', 'bash', '--model', 'script/s.json', 'x'];
    const child = spawn(process.execPath, args, { cwd: folder, stdio: 'ignore', env: { PATH: process.env.PATH, HOME: folder } });
    try {
      const pid = join(folder, 'pid');
      await expect.poll(() => existsSync(pid) && readFileSync(pid, 'utf8').trim() !== '', { timeout: 15_000 }).toBe(true);
      const maker = Number(readFileSync(pid, 'utf8'));
      expect(maker === child.pid).toBe(host === 'inline');
      await expect.poll(() => processesWith(mark).length, { timeout: 10_000 }).toBeGreaterThanOrEqual(3);
      child.kill('SIGKILL');
      await noneLeft(mark);
      await expect.poll(() => isAlive(maker), { timeout: 10_000 }).toBe(false);
    } finally {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
