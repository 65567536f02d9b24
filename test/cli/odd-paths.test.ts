// Names of files with tabs, quotes, newlines, backslashes and letters of other scripts: complete in JSON, readable in lists, right in what is applied.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createCli } from './support.ts';

const names = [
  'back\\slash.txt',
  'new\nline.txt',
  'quo"te.txt',
  'tab\there.txt',
  'b/"a b/b.txt',
  ' space ',
  'Übung 日本/\u{1f600}.txt',
  '\x07bell.txt',
];
const runs = [{ steps: [{ calls: names.map((path) => ({ tool: 'write', args: { path, content: 'x\n' } })) }, { text: 'done' }] }];

it.each([
  ['in the workspace', []],
  ['in a copy', ['--worktree']],
])('are what they are, for a run %s', async (_, flags) => {
  using cli = createCli({ runs, env: { PATH: process.env.PATH ?? '' } });
  expect(await cli.run(['run', 'go', ...flags])).toMatchObject({ code: 0 });
  const changes = await cli.json<{ path: string; added: number }[]>('diff', 'last');
  expect(changes.map(({ path }) => path).toSorted()).toEqual(names.toSorted());
  const { stdout } = await cli.run(['diff', 'last', '--stat']);
  const shown = stdout.split('\n').slice(0, names.length);
  expect(shown.map((line) => line.replace(/ +\+1 -0$/, ''))).toEqual(
    expect.arrayContaining(['back\\slash.txt', 'new⟦U+000A⟧line.txt', 'quo"te.txt', 'tab⟦U+0009⟧here.txt', 'Übung 日本/\u{1f600}.txt']),
  );
  const { outcome } = await cli.json<{ outcome: { artifacts: { kind: string; value: string }[] } }>('show', 'last');
  expect(outcome.artifacts.flatMap(({ kind, value }) => (kind === 'path' ? [value] : [])).toSorted()).toEqual(names.toSorted());
  if (flags.length > 0) expect(await cli.run(['apply', 'last'])).toMatchObject({ code: 0 });
  for (const name of names) expect(readFileSync(join(cli.folder, name), 'utf8')).toBe('x\n');
});
