// A process that swaps a folder of the workspace for a link while sandboxes are made: nothing from outside comes in.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeWorkspace } from '../tools/support.ts';
import { onLinux, realSandbox, shell } from './support.ts';

const attacker = `
  const { renameSync, symlinkSync, unlinkSync } = require('node:fs');
  const [, folder, outside] = process.argv;
  process.stdout.write('x');
  for (;;) {
    renameSync(folder, folder + '2');
    symlinkSync(outside, folder);
    const until = process.hrtime.bigint() + BigInt(Math.floor(Math.random() * 3e6));
    while (process.hrtime.bigint() < until);
    unlinkSync(folder);
    renameSync(folder + '2', folder);
    const then = process.hrtime.bigint() + BigInt(Math.floor(Math.random() * 3e6));
    while (process.hrtime.bigint() < then);
  }`;

test.runIf(onLinux)('a swapped folder', { timeout: 120_000 }, async () => {
  const { workspace, outside } = makeWorkspace();
  mkdirSync(join(workspace, '.vscode'));
  for (const file of [join(workspace, '.vscode', 'tasks.json'), join(outside, 'tasks.json')]) writeFileSync(file, 'x');
  writeFileSync(join(outside, 'key'), 'canary');
  const swapping = spawn(process.execPath, ['-e', attacker, join(workspace, '.vscode'), outside], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void swapping.kill('SIGKILL'));
  await new Promise((resolve) => swapping.stdout.once('data', resolve));
  const sandbox = await realSandbox();
  const outputs: string[] = [];
  for (let n = 0; n < 150; n++) outputs.push((await shell(workspace, 'cat .vscode*/key 2>/dev/null; echo ran', {}, { sandbox })).output);
  expect(outputs.filter((output) => output.includes('canary'))).toEqual([]);
  expect(outputs.filter((output) => /^ran$|not started/m.test(output))).toHaveLength(outputs.length);
});
