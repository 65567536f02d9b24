// A link appears between the check of a path and its use: a real process swaps them all the time, while the tools try 10,000 times.
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ToolResult } from '../../src/ports/tool.ts';
import { edit } from '../../src/tools/edit.ts';
import { readWorkspaceFile } from '../../src/tools/files/workspace-reader.ts';
import { glob } from '../../src/tools/glob.ts';
import { grep } from '../../src/tools/grep.ts';
import { list } from '../../src/tools/list.ts';
import { read } from '../../src/tools/read.ts';
import { write } from '../../src/tools/write.ts';
import { call, makeWorkspace } from './support.ts';

const canary = 'CANARY-OF-THE-OUTSIDE';

test.runIf(process.platform === 'linux')('a swapping attacker: 10,000 tries, 0 escapes', { timeout: 300_000 }, async () => {
  const { workspace, outside } = makeWorkspace();
  for (const folder of ['prey', 'deep/prey']) {
    mkdirSync(join(workspace, folder), { recursive: true });
    writeFileSync(join(workspace, folder, 'secret'), 'plain');
  }
  writeFileSync(join(workspace, 'file'), 'plain');
  writeFileSync(join(outside, 'secret'), canary);
  writeFileSync(join(outside, 'only-outside'), canary);
  await startSwapper(workspace, outside);

  const tries: Record<string, number> = {};
  const escapes: string[] = [];
  const met = { plain: 0, refused: 0 };
  const look = (name: string, { output, isError }: ToolResult) => {
    tries[name] = (tries[name] ?? 0) + 1;
    if (output.includes(canary) || output.includes('only-outside')) escapes.push(`${name}: ${output}`);
    if (output.includes('plain')) met.plain++;
    if (isError && /link/.test(output)) met.refused++;
  };
  const paths = ['prey/secret', 'deep/prey/secret', 'file'];
  const works: Record<string, (round: number) => Promise<ToolResult>> = {
    read: (round) => call(read, workspace, { path: paths[round % 3] }),
    brief: async (round) => {
      const file = await readWorkspaceFile(workspace, paths[round % 3] as string, 1000);
      return file.ok ? { output: file.text } : { output: file.reason, isError: true };
    },
    list: (round) => call(list, workspace, { path: ['prey', 'deep/prey'][round % 2] }),
    write: (round) =>
      call(write, workspace, {
        path: [`prey/new${round % 7}`, 'deep/prey/secret', `deep/prey/a/b${round % 7}`][round % 3],
        content: 'plain',
      }),
    edit: async (round) => {
      const memo = new Map<string, string>();
      await call(read, workspace, { path: paths[round % 3] }, { memo });
      return call(edit, workspace, { path: paths[round % 3], old: 'plain', new: 'still plain' }, { memo });
    },
    grep: (round) => call(grep, workspace, round % 2 === 0 ? { pattern: 'plain|CANARY' } : { pattern: 'plain|CANARY', path: 'prey' }),
    glob: () => call(glob, workspace, { pattern: '**' }),
  };
  const wanted = { read: 5080, brief: 2000, list: 1500, write: 1000, edit: 300, grep: 60, glob: 60 };
  await Promise.all(
    Object.entries(wanted).map(async ([name, count]) => {
      for (let round = 0; round < count; round++) look(name, await (works[name] as (typeof works)[string])(round));
    }),
  );

  expect(tries).toEqual(wanted);
  expect(Object.values(tries).reduce((sum, count) => sum + count, 0)).toBe(10_000);
  expect(escapes).toEqual([]);
  expect(readdirSync(outside).sort()).toEqual(['only-outside', 'secret']);
  expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe(canary);
  // Both sides of the race occurred: files were read, and links were refused.
  expect(met.plain).toBeGreaterThan(100);
  expect(met.refused).toBeGreaterThan(100);
});

async function startSwapper(workspace: string, outside: string): Promise<void> {
  const program = join(import.meta.dirname, 'support-swapper.ts');
  const swapper = spawn(process.execPath, [program, workspace, outside], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    const gone = new Promise((done) => swapper.once('exit', done));
    swapper.kill('SIGKILL');
    await gone;
  });
  await new Promise((done) => swapper.stdout.once('data', done));
}
