// `retinue diff`: what a run and its children changed, from the recorded edits.
import { expect, it } from 'vitest';
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
  expect(stderr).toMatch(/has changed no file with its file tools\nretinue: not included: what 1 shell command may have changed\n/);
});
