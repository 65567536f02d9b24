// Which folder a command works in: -C, the git repository around the current folder, or the current folder.
import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findWorkspace } from '../../src/config/workspace.ts';
import { createTestWorkspace, type TestWorkspace } from '../support/workspace.ts';

function git(cwd: string, ...args: string[]): void {
  const identity = [
    '-c',
    'user.name=t',
    '-c',
    'user.email=t@example.com',
    '-c',
    'protocol.file.allow=always',
    '-c',
    'init.defaultBranch=main',
  ];
  execFileSync('git', [...identity, ...args], {
    cwd,
    stdio: 'pipe',
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' },
  });
}

function makeFolder(fixture: TestWorkspace, path: string): string {
  const folder = join(fixture.folder, path);
  mkdirSync(folder, { recursive: true });
  return folder;
}

const find = (fixture: TestWorkspace, cwd: string, flag?: string) => findWorkspace(flag, { cwd, env: fixture.env });

describe('the workspace', () => {
  it('is the root of the git repository around the current folder', () => {
    using fixture = createTestWorkspace();
    git(fixture.workspace, 'init', '-q');
    const src = makeFolder(fixture, 'work/src/deep');
    expect(find(fixture, src)).toEqual({ path: fixture.workspace, from: 'git' });
    expect(find(fixture, fixture.workspace)).toEqual({ path: fixture.workspace, from: 'current folder' });
  });

  it('is the folder of -C, whatever repository it is in', () => {
    using fixture = createTestWorkspace();
    git(fixture.workspace, 'init', '-q');
    const src = makeFolder(fixture, 'work/src');
    expect(find(fixture, fixture.workspace, 'src')).toEqual({ path: src, from: 'flag' });
    expect(find(fixture, src, '.')).toEqual({ path: src, from: 'flag' });
  });

  it('is the current folder without git', () => {
    using fixture = createTestWorkspace();
    const src = makeFolder(fixture, 'work/src');
    expect(find(fixture, src)).toEqual({ path: src, from: 'current folder' });
  });

  it('is the submodule or the linked worktree that the folder is in', () => {
    using fixture = createTestWorkspace();
    const library = makeFolder(fixture, 'library');
    git(library, 'init', '-q');
    git(library, 'commit', '-q', '--allow-empty', '-m', 'x');
    git(fixture.workspace, 'init', '-q');
    git(fixture.workspace, 'commit', '-q', '--allow-empty', '-m', 'x');
    git(fixture.workspace, 'submodule', '--quiet', 'add', library, 'vendor/library');
    git(fixture.workspace, 'worktree', 'add', '-q', '../other');
    expect(find(fixture, makeFolder(fixture, 'work/vendor/library/src')).path).toBe(join(fixture.workspace, 'vendor/library'));
    expect(find(fixture, makeFolder(fixture, 'other/src')).path).toBe(join(fixture.folder, 'other'));
  });

  it('is the current folder in a bare repository and inside `.git`', () => {
    using fixture = createTestWorkspace();
    git(fixture.workspace, 'init', '-q');
    git(fixture.workspace, 'init', '-q', '--bare', 'store.git');
    for (const path of ['work/store.git/hooks', 'work/.git/hooks'])
      expect(find(fixture, makeFolder(fixture, path))).toEqual({ path: join(fixture.folder, path), from: 'current folder' });
  });

  it.each(['home', '.'])('is the current folder if the repository contains the home folder: %s', (root) => {
    using fixture = createTestWorkspace();
    git(join(fixture.folder, root), 'init', '-q');
    const project = makeFolder(fixture, 'home/project');
    expect(find(fixture, project)).toEqual({ path: project, from: 'current folder' });
    expect(find(fixture, fixture.env.HOME as string)).toEqual({ path: fixture.env.HOME, from: 'current folder' });
  });

  it('ignores a `.git` that is no repository', () => {
    using fixture = createTestWorkspace();
    const src = makeFolder(fixture, 'work/src');
    writeFileSync(join(fixture.workspace, '.git'), 'hello');
    expect(find(fixture, src).from).toBe('current folder');
  });

  it.runIf(process.getuid?.() === 0)('ignores a repository that another user has put above the folder', () => {
    using fixture = createTestWorkspace();
    git(fixture.workspace, 'init', '-q');
    const src = makeFolder(fixture, 'work/src');
    chownSync(join(fixture.workspace, '.git'), 12345, 12345);
    expect(find(fixture, src).from).toBe('current folder');
    // Root works in a folder of that user.
    for (const path of [src, fixture.workspace]) chownSync(path, 12345, 12345);
    expect(find(fixture, src).from).toBe('git');
  });

  it('is a real path', () => {
    using fixture = createTestWorkspace();
    git(fixture.workspace, 'init', '-q');
    makeFolder(fixture, 'work/src');
    symlinkSync(join(fixture.workspace, 'src'), join(fixture.folder, 'link'));
    expect(find(fixture, join(fixture.folder, 'link')).path).toBe(fixture.workspace);
  });
});
