// Finding what a command left running, also after the system has begun with low process ids again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { commandPriority, readStat, trackDescendants } from '../../src/system/descendants.ts';
import { createProcessGroup, endRemaining, findRemaining } from '../../src/system/remaining-processes.ts';

test.runIf(process.platform === 'linux')('a process with a lower id than the command is found by its mark, and ended', async () => {
  const mark = `RETINUE_TEST_MARK=${process.pid}-${performance.now()}`;
  const [name = '', value] = mark.split('=');
  const child = spawn('sleep', ['1000'], { env: { PATH: process.env.PATH, [name]: value }, detached: true, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  await once(child, 'spawn');
  const pid = child.pid as number;
  const own = createProcessGroup(pid, mark);
  expect(findRemaining(own)).toMatchObject([{ pid, name: 'sleep' }]);
  // The largest id there can be, which no process has here: the next process gets a low one.
  const wrapped = { ...own, pid: 2 ** 22 };
  expect(findRemaining(wrapped)).toMatchObject([{ pid, name: 'sleep' }]);
  expect(findRemaining({ ...wrapped, startedAt: own.startedAt + 1 }), 'started before the command').toEqual([]);
  expect(await endRemaining(wrapped)).toEqual([]);
  await exited;
});

test.runIf(process.platform === 'linux')(
  'a process of another command is never taken for an own one, whenever it is looked at during an exec',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'retinue-exec-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const first = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
    onTestFinished(() => void first.kill('SIGKILL'));
    await once(first, 'spawn');
    const tracker = trackDescendants(first.pid as number);
    onTestFinished(() => tracker.stop());
    const own = createProcessGroup(first.pid as number, 'RETINUE_TEST=own', tracker);
    const loop = join(folder, 'loop');
    writeFileSync(loop, `#!/bin/sh\n[ -e stop ] && exit\nexec ${loop}\n`, { mode: 0o755 });
    onTestFinished(() => writeFileSync(join(folder, 'stop'), ''));
    const env = { PATH: process.env.PATH, RETINUE_TEST: 'other' };
    const start = `(setsid nice -n ${commandPriority - getPriority()} ${loop} >/dev/null 2>&1 </dev/null & echo $!)`;
    const second = spawn('sh', ['-c', start], { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] });
    const [text] = await once(second.stdout, 'data');
    const looping = Number(text);
    await expect.poll(() => readStat(looping)?.priority).toBe(commandPriority);
    // Each look reads all processes of the machine, which takes long on a busy one.
    const end = performance.now() + 15_000;
    for (let i = 0; i < 3000 && performance.now() < end; i++)
      expect(findRemaining(own).filter(({ pid, isCertain }) => pid === looping && isCertain)).toEqual([]);
    expect(readStat(looping)).toMatchObject({ state: expect.stringMatching(/^[RSD]$/) });
  },
);
