// What git obeys besides `.git`: its configuration is parsed as git does, and the paths it names are protected.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseGitConfig } from '../../src/tools/files/git-config.ts';
import { findGitControlledPaths } from '../../src/tools/files/git-controlled-paths.ts';
import { write } from '../../src/tools/write.ts';
import { call, makeWorkspace } from './support.ts';

const asGit = { GIT_CONFIG_NOSYSTEM: '1', HOME: '/nowhere', PATH: process.env.PATH ?? '' };

function put(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

test.each<[string, Record<string, string>]>([
  ['a comment behind it', { '.git/config': '[core]\n\thooksPath = tools/hooks # ours\n' }],
  ['all on one line', { '.git/config': '[core] hooksPath = tools/hooks\n' }],
  ['quotes and escapes', { '.git/config': '[CORE]\nHOOKSPATH="too"ls\\\n/hooks;x' }],
  ['a file that is included', { '.git/config': '[include]\npath = ../.gitconfig\n', '.gitconfig': '[core]\nhooksPath=tools/hooks' }],
  [
    'a file that is included for some branches',
    { '.git/config': '[includeIf "onbranch:x"]\npath = ../a/c\n', 'a/c': '[include]path=d', 'a/d': '[core]hooksPath=tools/hooks' },
  ],
  ['a worktree', { '.git': 'gitdir: r/worktrees/w', 'r/worktrees/w/commondir': '../..', 'r/config': '[core]hooksPath=tools/hooks' }],
  ['the configuration of the user', { '.git/config': '', '../outside/.gitconfig': '[core]\n\thooksPath = tools/hooks\n' }],
  [
    'a path below the folder of git',
    { '.git/config': '[include]\npath = %(prefix)/../../../proc/self/cwd/g\n', g: '[core] hooksPath = tools/hooks' },
  ],
  ['a path below a home folder', { '.git/config': '[include]\npath = ~root/../proc/self/cwd/g\n', g: '[core] hooksPath = tools/hooks' }],
  ['a file `.git` with two lines', { '.git': 'gitdir: r\nx\n', 'r\nx/config': '[core]hooksPath=tools/hooks' }],
  [
    'a repository at the top beside an empty `.git`',
    { '.git/x': '', HEAD: '', 'objects/x': '', 'refs/x': '', config: '[core] hooksPath = tools/hooks' },
  ],
  ['the same, elsewhere', { '.git/config': '', '../outside/.config/git/config': '[core]\n\thooksPath = tools/hooks\n' }],
])('the directory of core.hooksPath is protected: %s', async (_, files) => {
  const { workspace, outside } = makeWorkspace();
  put(workspace, files);
  expect((await findGitControlledPaths(realpathSync(workspace), { HOME: outside })).configured).toContain('tools/hooks');
});

test('the write tool protects hooks, included configuration files and hooks at the top of the workspace', async () => {
  const { workspace } = makeWorkspace();
  put(workspace, { '.git/config': '[core] hooksPath = tools/hooks # ours\n[include] path = ../shared.gitconfig\n[core] hooksPath = .' });
  for (const path of ['tools/hooks/pre-commit', 'shared.gitconfig', 'pre-commit'])
    expect(await call(write, workspace, { path, content: 'x' })).toMatchObject({
      isError: true,
      output: expect.stringContaining('protected'),
    });
  expect(existsSync(join(workspace, 'tools'))).toBe(false);
  expect((await call(write, workspace, { path: 'tools/x', content: 'x' })).isError).toBeUndefined();
});

test('a repository above the workspace: paths that it names in the workspace are protected', async () => {
  const { workspace, outside } = makeWorkspace();
  put(dirname(workspace), { '.git/config': '[core] hooksPath = workspace/hooks' });
  expect(await findGitControlledPaths(realpathSync(workspace), { HOME: outside })).toEqual({
    repository: [],
    configured: ['hooks'],
    problem: null,
  });
});

test.each([
  ['a configuration that is too large', { '.git/config': `${'# padding\n'.repeat(200_000)}[core] hooksPath = tools` }],
  [
    'too many included files',
    Object.fromEntries(Array.from({ length: 102 }, (_, n) => [n === 0 ? '.git/config' : `.git/c${n}`, `[include] path = c${n + 1}\n`])),
  ],
])('nothing is written with %s', async (_, files) => {
  const { workspace } = makeWorkspace();
  put(workspace, files);
  expect(await call(write, workspace, { path: 'tools/x', content: 'x' })).toMatchObject({
    isError: true,
    output: expect.stringContaining('nothing is written, because'),
  });
});

test('a workspace that is itself a repository is protected', async () => {
  const { workspace } = makeWorkspace();
  execFileSync('git', ['init', '-q', '--bare', workspace], { env: asGit });
  for (const path of ['config', 'hooks/pre-commit', 'HEAD'])
    expect(await call(write, workspace, { path, content: 'x' })).toMatchObject({
      isError: true,
      output: expect.stringContaining('protected'),
    });
});

const joined = (parts: string[], maxLength: number) => fc.array(fc.constantFrom(...parts), { maxLength }).map((all) => all.join(''));
const value = joined(['x', ' ', '  ', '=', '[', '"a # b"', '" "', '"', '\\\\', '\\"', '\\n', '\\\n'], 6);
const setting = fc.tuple(
  fc.constantFrom('hooksPath', 'a-1'),
  fc.constantFrom('=', ' = ', '\t= '),
  value,
  fc.constantFrom('', ' # c', ';c"'),
);
const line = fc.oneof(
  { weight: 4, arbitrary: setting.map((parts) => `${parts.join('')}\n`) },
  fc.constantFrom(
    '[core]',
    '[Include] ',
    '[a "b\\"]c"]\n',
    '[a.B-c]',
    '[A.b "C.d"]\n',
    '# [c]\n',
    '\n',
    ' \t',
    'flag\n',
    'flag # c\n',
    ';\\\n',
  ),
);

test('the parser finds the same settings as git, in every file that git accepts', { timeout: 60_000 }, () => {
  const { workspace } = makeWorkspace();
  const file = join(workspace, 'config');
  let taken = 0;
  fc.assert(
    fc.property(fc.array(line, { maxLength: 6 }), (lines) => {
      const text = `[core]${lines.join('')}`;
      writeFileSync(file, text);
      const { status, stdout } = spawnSync('git', ['config', '--file', file, '--null', '--list'], { env: asGit, encoding: 'utf8' });
      if (status !== 0) return;
      const theirs = stdout
        .split('\0')
        .slice(0, -1)
        .map((line) => {
          const [key = '', ...value] = line.split('\n');
          const [section, ...rest] = key.split('.');
          return { key: `${section}.${rest.at(-1)}`, subsection: rest.slice(0, -1).join('.'), value: value.join('\n') };
        });
      taken += theirs.length;
      expect(parseGitConfig(text)).toEqual({ settings: theirs, hasUnknownText: false });
    }),
    { numRuns: 400 },
  );
  expect(taken).toBeGreaterThan(200);
});
