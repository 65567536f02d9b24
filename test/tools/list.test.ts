import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { list } from '../../src/tools/list.ts';
import { call, makeWorkspace } from './support.ts';

test('lists directories, files, links and others, sorted, without .retinue', async () => {
  const { workspace } = makeWorkspace();
  for (const name of ['src', '.retinue', '.git']) mkdirSync(join(workspace, name));
  writeFileSync(join(workspace, 'b.txt'), '12345');
  writeFileSync(join(workspace, 'a\n.txt'), '');
  symlinkSync('/etc', join(workspace, 'etc'));
  execFileSync('mkfifo', [join(workspace, 'pipe')]);
  const { output } = await call(list, workspace, { path: '.' });
  expect(output.split('\n')).toEqual([
    '.git/',
    'a\\u000a.txt (0 bytes)',
    'b.txt (5 bytes)',
    'etc (a link to /etc)',
    'pipe (a named pipe)',
    'src/',
  ]);
  expect((await call(list, workspace, { path: '' })).output).toBe(output);
});

test.each([
  { path: 'src', output: '[src is empty]', isError: undefined },
  { path: 'file', output: 'file: a part of this path is not a directory', isError: true },
  { path: 'none', output: 'none does not exist', isError: true },
  { path: '.retinue', output: '.retinue is closed to tools', isError: true },
  { path: 'etc', output: 'etc leads out of the workspace through a link', isError: true },
  { path: '..', output: '.. is outside the workspace', isError: true },
])('$path', async ({ path, output, isError }) => {
  const { workspace } = makeWorkspace();
  mkdirSync(join(workspace, 'src'));
  mkdirSync(join(workspace, '.retinue'));
  writeFileSync(join(workspace, 'file'), '');
  symlinkSync('/etc', join(workspace, 'etc'));
  const result = await call(list, workspace, { path });
  expect(result.output).toBe(output);
  expect(result.isError).toBe(isError);
});

test('shows at most 1000 entries, with a notice', async () => {
  const { workspace } = makeWorkspace();
  for (let index = 0; index < 1003; index++) writeFileSync(join(workspace, `f${String(index).padStart(4, '0')}`), '');
  const lines = (await call(list, workspace, { path: '.' })).output.split('\n');
  expect(lines).toHaveLength(1001);
  expect(lines[999]).toBe('f0999 (0 bytes)');
  expect(lines[1000]).toBe('[the first 1000 of 1003 entries]');
});

test('stops when it is aborted', async () => {
  const { workspace } = makeWorkspace();
  await expect(call(list, workspace, { path: '.' }, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
});
