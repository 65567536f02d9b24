import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { grep } from '../../src/tools/grep.ts';
import { filterFiles, filterMatches } from '../../src/tools/search/recheck.ts';
import { call, makeWorkspace } from './support.ts';

test('results that a search reached through a link are not shown', async () => {
  const { workspace, outside } = makeWorkspace();
  writeFileSync(join(outside, 'f'), 'theirs\n');
  mkdirSync(join(workspace, 'd'));
  writeFileSync(join(workspace, 'd/f'), 'one\ntwo\n');
  symlinkSync(outside, join(workspace, 'swapped'));
  symlinkSync(join(outside, 'f'), join(workspace, 'final'));
  expect([...(await filterFiles(workspace, ['d/f', 'd/gone', 'swapped/f', 'final', 'd']))]).toEqual(['d/f']);
  const matches = [
    { path: 'd/f', line: 2, text: 'two' },
    { path: 'd/f', line: 1, text: 'theirs' },
    { path: 'd/f', line: 9, text: 'two' },
    { path: 'final', line: 1, text: 'theirs' },
    { path: 'swapped/f', line: 1, text: 'theirs' },
  ];
  expect(await filterMatches(workspace, matches, 1000)).toEqual([{ path: 'd/f', line: 2, text: 'two' }]);
});

test.each([
  ['Windows line ends', Buffer.from('a\r\nneedle\r\n'), 'f:2:needle'],
  ['UTF-16', Buffer.from('\ufeffneedle\nb\n', 'utf16le'), 'f:1:needle'],
  ['a mark of UTF-8', Buffer.from('\ufeffneedle\n'), 'f:1:needle'],
  ['no UTF-8', Buffer.from('needle \xff\n', 'latin1'), 'f:1:needle \ufffd'],
  ['a long line', Buffer.from(`needle${'ä'.repeat(1000)}\n`), /^f:1:needleä+ \[\.\.\. .*\]$/],
  ['no line end', Buffer.from('x\nneedle'), 'f:2:needle'],
])('%s: found again', async (_, content, shown) => {
  const { workspace } = makeWorkspace();
  writeFileSync(join(workspace, 'f'), content);
  const { output } = await call(grep, workspace, { pattern: 'needle' });
  if (typeof shown === 'string') expect(output).toBe(shown);
  else expect(output).toMatch(shown);
});

test('lines of a file with several hard links are left out', async () => {
  const { workspace, outside } = makeWorkspace();
  writeFileSync(join(outside, 'f'), 'needle of theirs\n');
  linkSync(join(outside, 'f'), join(workspace, 'hard'));
  writeFileSync(join(workspace, 'own'), 'needle\n');
  expect((await call(grep, workspace, { pattern: 'needle' })).output).toBe(
    'own:1:needle\n[1 line left out: changed during the search, or in a file with several hard links]',
  );
});
