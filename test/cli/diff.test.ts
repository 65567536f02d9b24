// `retinue diff`: what a run and its children changed, from the recorded edits.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createSandbox } from '../workspaces/support.ts';
import { createCli } from './support.ts';

const edit = (path: string, old: string, now: string) => ({ tool: 'edit', args: { path, old, new: now } });
const read = (path: string) => ({ tool: 'read', args: { path } });
const runs = [
  {
    when: { label: 'child' },
    steps: [{ calls: [read('b.txt')] }, { calls: [edit('b.txt', 'old', 'young')] }, { text: 'done' }],
  },
  {
    steps: [
      { calls: [read('a.txt')] },
      { calls: [edit('a.txt', 'one', 'uno\nmore')] },
      { calls: [edit('a.txt', 'two', 'due')] },
      { calls: [{ tool: 'delegate', args: { tasks: [{ task: 'change b', label: 'child' }] } }] },
      { text: 'done' },
    ],
  },
];

it('prints every change of the tree in order; --stat sums them up by file', async () => {
  using cli = createCli({ runs, files: { 'a.txt': 'one\ntwo\n', 'b.txt': 'old\n' } });
  expect((await cli.run(['run', 'task'])).code).toBe(0);
  const { code, stdout, stderr } = await cli.run(['diff', 'last']);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/-one\n\+uno\n\+more\n[\s\S]*-two\n\+due\n[\s\S]*-old\n\+young\n/);
  expect((await cli.run(['diff', 'last', '--stat'])).stdout).toBe('a.txt  +3 -2  2 edits\nb.txt  +1 -1\n2 files changed, +4 -3\n');
  const changes = await cli.json<{ path: string; added: number; runId: string }[]>('diff', 'last');
  expect(changes.map(({ path, added }) => [path, added])).toEqual([
    ['a.txt', 2],
    ['a.txt', 1],
    ['b.txt', 1],
  ]);
  // A child alone.
  expect((await cli.run(['diff', changes[2]?.runId ?? '', '--stat'])).stdout).toBe('b.txt  +1 -1\n1 file changed, +1 -1\n');
});

it('has colours on a terminal', async () => {
  using cli = createCli({ runs, files: { 'a.txt': 'one\ntwo\n', 'b.txt': 'old\n' } });
  await cli.run(['run', 'task']);
  expect((await cli.run(['diff', 'last'], { colour: { out: true, err: true } })).stdout).toContain('\x1b[32m+young\x1b[39m');
});

it('says if nothing was changed, and that commands may have', async () => {
  using cli = createCli({ runs: [{ steps: [{ calls: [{ tool: 'bash', args: { command: 'true' } }] }, { text: 'done' }] }] });
  await cli.run(['run', 'task', '--allow', 'bash', '--sandbox', 'off']);
  const { code, stdout, stderr } = await cli.run(['diff', 'last']);
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toMatch(/has changed no file\nretinue: not included: the contents that 1 shell command may have changed\n/);
});

it('counts lines that look like the names of a file, and marks a diff that was cut', async () => {
  const long = Array.from({ length: 3000 }, (_, i) => `line ${i}`).join('\n');
  const write = (path: string, content: string) => ({ tool: 'write', args: { path, content } });
  using cli = createCli({
    runs: [
      {
        steps: [
          { calls: [read('a.txt')] },
          { calls: [edit('a.txt', '-- old', '++ new')] },
          { calls: [write('long.txt', long)] },
          { text: 'done' },
        ],
      },
    ],
    files: { 'a.txt': '-- old\n' },
  });
  expect((await cli.run(['run', 'task', '--allow', 'write'])).code).toBe(0);
  const { stdout } = await cli.run(['diff', 'last', '--stat']);
  expect(stdout).toMatch(/^a\.txt +\+1 -1\nlong\.txt +\+\d+ -0 {2}at least: a long diff was cut\n/);
});

it('names files that were written without a diff', async () => {
  const calls = [{ tool: 'write', args: { path: 'a.bin', content: 'a\u0000b' } }];
  using cli = createCli({ runs: [{ steps: [{ calls }, { text: 'done' }] }] });
  expect((await cli.run(['run', 'task', '--allow', 'write'])).code).toBe(0);
  const { stdout, stderr } = await cli.run(['diff', 'last']);
  expect([stdout, stderr]).toEqual([
    '[a.bin created, 3 bytes, without a diff: it is binary, too large, or has the same content as before]\n',
    '',
  ]);
});

it('shows the changes of a live tree, file by file', async () => {
  const steps = [
    { calls: [read('a.txt'), read('b.txt')] },
    { calls: [edit('a.txt', 'one', 'uno')] },
    { calls: [edit('b.txt', 'old', 'young')] },
    { calls: [edit('a.txt', 'two', 'due')] },
    { hang: 'start' },
  ];
  using cli = createCli({ runs: [{ steps }], files: { 'a.txt': 'one\ntwo\n', 'b.txt': 'old\n' } });
  const live = cli.start(['run', 'task']);
  await expect.poll(async () => (await cli.json<object[]>('diff', 'last')).length, { timeout: 10_000 }).toBe(3);
  const { stdout } = await cli.run(['diff', 'last']);
  expect(stdout).toMatch(/-one\n\+uno\n[\s\S]*-two\n\+due\n[\s\S]*-old\n\+young\n/);
  live.io.stop();
  await live.code;
});

it('names files that a shell command created, renamed or deleted', async () => {
  const calls = [{ tool: 'bash', args: { command: 'echo x > new.txt; mv a.txt b.txt' } }];
  using cli = createCli({ runs: [{ steps: [{ calls }, { text: 'done' }] }], files: { 'a.txt': 'one\n' } });
  expect((await cli.run(['run', 'task', '--allow', 'bash', '--sandbox', 'off'])).code).toBe(0);
  const { stdout, stderr } = await cli.run(['diff', 'last']);
  expect(stdout.split('\n')).toEqual([
    '[a.txt deleted, by a shell command; no diff was recorded]',
    '[b.txt created, 4 bytes, by a shell command; no diff was recorded]',
    '[new.txt created, 2 bytes, by a shell command; no diff was recorded]',
    '',
  ]);
  expect(stderr).toBe('retinue: not included: the contents that 1 shell command may have changed\n');
});

it('prints the patch of a run with a checkout, exactly if it is not shown on a terminal', async () => {
  using sandbox = createSandbox();
  const path = sandbox.repository('origin', { 'a.txt': 'one\r\n', 'b.txt': 'same\n' });
  const write = (name: string, content: string) => ({ tool: 'write', args: { path: name, content } });
  const steps = [{ calls: [read('a.txt')] }, { calls: [edit('a.txt', 'one', 'two'), write('new.txt', 'no newline')] }, { text: 'done' }];
  using cli = createCli({ runs: [{ steps }], env: { PATH: process.env.PATH ?? '' } });
  expect(await cli.run(['run', 'task', '--repository', path, '--ref', 'main'])).toMatchObject({ code: 0 });
  const { stdout: patch, stderr } = await cli.run(['diff', 'last']);
  expect(stderr).toBe('');
  sandbox.write('patch', patch);
  sandbox.git('origin', 'apply', '../patch');
  expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('two\r\n');
  expect(readFileSync(join(path, 'new.txt'), 'utf8')).toBe('no newline');
  expect((await cli.run(['diff', 'last', '--stat'])).stdout).toBe('a.txt    +1 -1\nnew.txt  +1 -0\n2 files changed, +2 -1\n');
  const shown = await cli.run(['diff', 'last'], { outTTY: true });
  expect(shown.stdout).toContain('+++ b/new.txt');
  expect(await cli.json('diff', 'last')).toMatchObject([
    { path: 'a.txt', added: 1 },
    { path: 'new.txt', added: 1 },
  ]);
  expect(await cli.run(['run', 'task', '--ref', 'x'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--ref needs --repository'),
  });
  const refused = await cli.run(['run', 'task', '--repository', 'https://me:secret@example.org/x']);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('credential helper') });
  expect(refused.stderr).not.toContain('secret@');
});
