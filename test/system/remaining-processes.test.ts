// Finding what a command left running, also after the system has begun with low process ids again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
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
