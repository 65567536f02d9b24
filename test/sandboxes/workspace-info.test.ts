// What a run is told about uncommitted changes. Git is started only in the sandbox, whatever a hostile repository configures.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findSandbox } from '../../src/sandboxes/find-sandbox.ts';
import { createWorkspaceReader } from '../../src/tools/index.ts';
import { makeWorkspace } from '../tools/support.ts';

function git(folder: string, ...args: string[]) {
  return execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: folder, stdio: 'pipe', encoding: 'utf8' });
}

function createRepository(): string {
  const { workspace } = makeWorkspace();
  git(workspace, 'init', '-q', '-b', 'main');
  writeFileSync(join(workspace, 'a.txt'), 'a');
  git(workspace, 'add', '.');
  git(workspace, 'commit', '-q', '-m', 'first');
  return workspace;
}

async function describeIn(workspace: string) {
  const found = await findSandbox({ env: process.env, workspace, secret: [] });
  if (!found.ok) throw new Error(found.reason);
  return (await createWorkspaceReader({ sandbox: found.sandbox }).describe(workspace)).git;
}

describe('a git repository', () => {
  it('without changes is clean; a changed or new file makes it dirty', async () => {
    const workspace = createRepository();
    expect(await describeIn(workspace)).toEqual({ branch: 'main', isDirty: false });
    writeFileSync(join(workspace, 'new.txt'), '');
    expect(await describeIn(workspace)).toEqual({ branch: 'main', isDirty: true });
  });

  it('without a sandbox has only a branch', async () => {
    const workspace = createRepository();
    expect((await createWorkspaceReader({ sandbox: null }).describe(workspace)).git).toEqual({ branch: 'main', isDirty: null });
  });
});

describe('a hostile repository', () => {
  /** A program outside the workspace would be able to write here. */
  const setUp = () => {
    const workspace = createRepository();
    const { workspace: outside } = makeWorkspace();
    const marker = join(outside, 'started');
    const program = join(workspace, 'evil.sh');
    writeFileSync(program, `#!/bin/sh\ntouch ${marker}\n`);
    chmodSync(program, 0o755);
    return { workspace, marker, program };
  };

  it.each(['core.fsmonitor', 'filter.x.clean', 'core.sshCommand'])('cannot start a program outside the sandbox by %s', async (key) => {
    const { workspace, marker, program } = setUp();
    git(workspace, 'config', key, program);
    writeFileSync(join(workspace, '.gitattributes'), '* filter=x\n');
    writeFileSync(join(workspace, 'a.txt'), 'b');
    await describeIn(workspace);
    expect(existsSync(marker)).toBe(false);
  });

  it('cannot start one by a promisor remote that git fetches missing objects from', async () => {
    const { workspace, marker, program } = setUp();
    const tree = git(workspace, 'rev-parse', 'HEAD^{tree}').trim();
    rmSync(join(workspace, '.git/objects', tree.slice(0, 2), tree.slice(2)));
    rmSync(join(workspace, '.git/index'));
    for (const [key, value] of [
      ['core.repositoryformatversion', '1'],
      ['extensions.partialclone', 'o'],
      ['remote.o.promisor', 'true'],
      ['remote.o.url', join(workspace, '.git')],
      ['remote.o.uploadpack', program],
    ] as const)
      git(workspace, 'config', key, value);
    await describeIn(workspace);
    expect(existsSync(marker)).toBe(false);
    expect(readdirSync(workspace)).toContain('evil.sh');
  });

  it('cannot replace git by a program on a path in the workspace', async () => {
    const { workspace, marker } = setUp();
    mkdirSync(join(workspace, 'node_modules/.bin'), { recursive: true });
    writeFileSync(join(workspace, 'node_modules/.bin/git'), `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 });
    const path = process.env.PATH;
    process.env.PATH = `${join(workspace, 'node_modules/.bin')}:${path}`;
    try {
      expect((await describeIn(workspace))?.isDirty).toBe(true);
    } finally {
      process.env.PATH = path;
    }
    expect(existsSync(marker)).toBe(false);
  });
});
