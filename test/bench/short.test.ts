// The short form of the benchmark: it compares processor times and counts bytes, within bounds that hold on a busy machine.
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const program = resolve(import.meta.dirname, '../../bench/run.ts');

test('delegation costs no more than it did', { timeout: 900_000 }, async () => {
  const run = promisify(execFile)(process.execPath, [program, '--short']);
  const { stdout } = await run.catch((error: { stdout: string; message: string }) => ({ stdout: error.stdout || error.message }));
  expect(stdout.trim().split('\n')).toHaveLength(6);
  expect(stdout).not.toContain('FAIL');
});
