// When a supervisor is killed with -9, everything that it started ends too, however it tries to escape.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { noneLeft, processesWith, program } from './support.ts';

describe.runIf(process.platform === 'linux')('kill -9 of the supervisor', () => {
  it.each([
    ['inline', 'auto'],
    ['process', 'auto'],
    ['inline', 'off'],
    ['process', 'off'],
  ])('leaves no process behind (%s, sandbox %s)', async (host, sandbox) => {
    const folder = mkdtempSync(join(tmpdir(), 'retinue-guard-'));
    const mark = `8${process.pid}.${host.length}${sandbox.length}`;
    const command = `(setsid sh -c 'sleep ${mark} & sleep ${mark}' &) ; trap "" TERM; touch begun; sleep ${mark}`;
    const script = { runs: [{ steps: [{ calls: [{ tool: 'bash', args: { command } }] }] }] };
    writeFileSync(join(folder, 's.json'), JSON.stringify(script));
    const args = [program, 'run', '--host', host, '--sandbox', sandbox, '--allow', 'bash', '--model', 'script/s.json', 'x'];
    const child = spawn(process.execPath, args, { cwd: folder, stdio: 'ignore', env: { PATH: process.env.PATH, HOME: folder } });
    try {
      await expect.poll(() => existsSync(join(folder, 'begun'))).toBe(true);
      const runs = processesWith('--child-run').filter((pid) => parentOf(pid) === child.pid);
      expect(runs).toHaveLength(host === 'inline' ? 0 : 1);
      await expect.poll(() => processesWith(mark).length).toBeGreaterThanOrEqual(3);
      child.kill('SIGKILL');
      const killed = performance.now();
      await noneLeft(mark);
      expect(performance.now() - killed).toBeLessThan(5000);
      await expect.poll(() => runs.filter(isAlive)).toEqual([]);
    } finally {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

function parentOf(pid: number): number | null {
  try {
    return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
