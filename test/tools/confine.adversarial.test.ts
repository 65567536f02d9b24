import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { edit } from '../../src/tools/edit.ts';
import { locatePath, openDirectory } from '../../src/tools/files/confine.ts';
import { glob } from '../../src/tools/glob.ts';
import { grep } from '../../src/tools/grep.ts';
import { list } from '../../src/tools/list.ts';
import { read } from '../../src/tools/read.ts';
import { write } from '../../src/tools/write.ts';
import { call, makeWorkspace } from './support.ts';

/** A workspace with links of every kind and secrets outside it. */
function makeTrap(): { workspace: string; outside: string } {
  const { workspace, outside } = makeWorkspace();
  writeFileSync(join(outside, 'secret'), 'SECRET');
  mkdirSync(join(workspace, '.retinue'));
  writeFileSync(join(workspace, '.retinue/retinue.db'), 'SECRET');
  mkdirSync(join(workspace, 'dir'));
  writeFileSync(join(workspace, 'dir/plain'), 'plain');
  symlinkSync(join(outside, 'secret'), join(workspace, 'final'));
  symlinkSync(outside, join(workspace, 'middle'));
  symlinkSync('../../outside', join(workspace, 'dir/up'));
  symlinkSync('middle', join(workspace, 'chain'));
  symlinkSync('/proc/self/root', join(workspace, 'root'));
  symlinkSync('/proc/self/cwd', join(workspace, 'cwd'));
  symlinkSync('.retinue', join(workspace, 'state'));
  symlinkSync('circle', join(workspace, 'circle'));
  symlinkSync(join(outside, 'not-there'), join(workspace, 'dangling'));
  symlinkSync('dir', join(workspace, 'inner'));
  return { workspace, outside };
}

const escapes = (workspace: string, outside: string): string[] => [
  'final',
  'middle/secret',
  'dir/up/secret',
  'chain/secret',
  '../outside/secret',
  'dir/../../outside/secret',
  join(outside, 'secret'),
  relative(workspace, join(outside, 'secret')),
  `root${outside}/secret`,
  `/proc/self/root${outside}/secret`,
  `/proc/self/root${workspace}/dir/plain`,
  `/proc/${process.pid}/root${outside}/secret`,
  'cwd/package.json',
  'state/retinue.db',
  '.retinue/retinue.db',
  '.RETINUE/retinue.db',
  './/.retinue//retinue.db',
  'dir/../.retinue/retinue.db',
  'circle',
  'circle/x',
  'dangling',
  'dangling/x',
  'dir/plain\0',
];

describe('paths that lead out of the workspace', () => {
  test('are refused by every tool, and nothing appears outside', async () => {
    const { workspace, outside } = makeTrap();
    for (const path of escapes(workspace, outside)) {
      for (const [tool, input] of [
        [read, { path }],
        [list, { path }],
        [write, { path, content: 'x' }],
        [edit, { path, old: 'SECRET', new: 'x' }],
        [glob, { pattern: '**', path }],
        [grep, { pattern: 'SECRET', path }],
      ] as const) {
        const result = await call(tool, workspace, input);
        expect(result, `${tool.name} ${path}`).toMatchObject({ isError: true });
        expect(result.output).not.toContain('SECRET');
      }
    }
    expect(readdirSync(outside)).toEqual(['secret']);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('SECRET');
    expect(readFileSync(join(workspace, '.retinue/retinue.db'), 'utf8')).toBe('SECRET');
  });

  test('links that stay inside are followed; so are absolute paths inside', async () => {
    const { workspace } = makeTrap();
    for (const path of ['inner/plain', 'dir/../dir/plain', join(workspace, 'dir/plain'), 'inner/../dir/plain']) {
      expect((await call(read, workspace, { path })).output).toBe('     1\tplain');
    }
  });

  test('a workspace reached through a link works', async () => {
    const { workspace, outside } = makeTrap();
    symlinkSync(workspace, join(outside, 'door'));
    const door = join(outside, 'door');
    for (const path of ['dir/plain', join(door, 'dir/plain'), join(workspace, 'dir/plain')]) {
      expect((await call(read, door, { path })).output).toBe('     1\tplain');
    }
    expect((await call(read, door, { path: '../secret' })).isError).toBe(true);
  });
});

test('a walk over the whole workspace finds no secret', async () => {
  const { workspace } = makeTrap();
  expect((await call(grep, workspace, { pattern: 'SECRET' })).output).toBe('[no line matches]');
  expect((await call(glob, workspace, { pattern: '**' })).output).toBe('dir/plain');
});

test.runIf(process.platform === 'linux')('no descriptor is left open', async () => {
  const { workspace, outside } = makeTrap();
  const before = readdirSync('/proc/self/fd').length;
  for (const path of [...escapes(workspace, outside), 'dir/plain', 'dir', 'dir/a/b/c']) {
    await call(read, workspace, { path });
    await call(list, workspace, { path });
    await call(write, workspace, { path, content: 'x' });
    await call(edit, workspace, { path, old: 'x', new: 'y' });
    await call(glob, workspace, { pattern: '*', path });
    await call(grep, workspace, { pattern: 'x', path });
  }
  expect(readdirSync('/proc/self/fd').length).toBe(before);
});

describe('what rules match against', () => {
  test.each([
    { path: './dir//plain', subjects: ['dir/plain'] },
    { path: 'dir/../dir/new/file', subjects: ['dir/new/file'] },
    { path: 'inner/plain', subjects: ['inner/plain', 'dir/plain'] },
    { path: 'inner/new', subjects: ['inner/new', 'dir/new'] },
    { path: '.', subjects: ['.'] },
    { path: '../x', subjects: ['../x'] },
    { path: '/etc/passwd', subjects: ['/etc/passwd'] },
  ])('$path', ({ path, subjects }) => {
    const { workspace } = makeTrap();
    expect(read.subjects({ path }, { workspace })).toEqual(subjects);
    expect(write.subjects({ path, content: '' }, { workspace })).toEqual(subjects);
    expect(list.subjects({ path }, { workspace })).toEqual(subjects);
  });

  test('a path that no system call accepts is used as it is', () => {
    const { workspace } = makeTrap();
    expect(read.subjects({ path: 'bad\0path' }, { workspace })).toEqual(['bad\0path']);
  });

  test('a link that leads out shows its target', () => {
    const { workspace, outside } = makeTrap();
    expect(read.subjects({ path: 'final' }, { workspace })).toEqual(['final', join(outside, 'secret')]);
  });
});

describe('links swapped in after the check', () => {
  test('a directory that became a link is not entered', async () => {
    const { workspace, outside } = makeTrap();
    const located = await locatePath(workspace, 'dir/plain');
    if (!located.ok) throw new Error(located.reason);
    renameSync(join(workspace, 'dir'), join(workspace, 'away'));
    symlinkSync(outside, join(workspace, 'dir'));
    expect(await openDirectory(located.root, 'dir', { create: true })).toMatchObject({ ok: false });
  });
});
