// Nothing that a repository or a run writes makes git start a program.
import { existsSync, lstatSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CheckoutRequest, WorkspaceSource } from '../../src/ports/checkouts.ts';
import { createSandbox, nextRun, noFiles, openCheckouts, type Sandbox } from './support.ts';

function request(source: WorkspaceSource): CheckoutRequest {
  const runId = nextRun();
  return { runId, rootId: runId, source, previous: null, saved: null, attached: noFiles, signal: new AbortController().signal };
}

/** Settings by which git starts `program`, in one file of configuration. */
function hostileConfig(program: string): string {
  return [
    '[core]',
    `\tfsmonitor = ${program}`,
    `\tsshCommand = ${program}`,
    `\thooksPath = ${program}-hooks`,
    `\tpager = ${program}`,
    `\talternateRefsCommand = ${program}`,
    '[filter "evil"]',
    `\tclean = ${program}`,
    `\tsmudge = ${program}`,
    `\tprocess = ${program}`,
    '\trequired = true',
    '[diff "evil"]',
    `\ttextconv = ${program}`,
    `\tcommand = ${program}`,
    '[merge "evil"]',
    `\tdriver = ${program}`,
    '[remote "origin"]',
    '\turl = ext::sh -c "touch evidence"',
    '\tpromisor = true',
    '\tpartialclonefilter = blob:none',
    `\tuploadpack = ${program}`,
    '[extensions]',
    '\tpartialClone = origin',
    '[protocol "ext"]',
    '\tallow = always',
    '',
  ].join('\n');
}

const hooks = ['post-checkout', 'pre-commit', 'post-index-change', 'reference-transaction', 'post-merge', 'fsmonitor-watchman'];

/** A program that leaves a trace when it is started. */
function createProgram(sandbox: Sandbox): { program: string; wasStarted(): boolean } {
  const evidence = join(sandbox.folder, 'evidence');
  sandbox.write('evil', `#!/bin/sh\necho "$0" "$@" >> ${evidence}\ncat\n`, 0o755);
  for (const name of hooks) sandbox.write(`evil-hooks/${name}`, `#!/bin/sh\necho hook >> ${evidence}\n`, 0o755);
  return { program: join(sandbox.folder, 'evil'), wasStarted: () => existsSync(evidence) };
}

function poison(sandbox: Sandbox, gitDir: string, program: string): void {
  sandbox.write(`${gitDir}/config`, `[core]\n\trepositoryformatversion = 0\n${hostileConfig(program)}`);
  for (const name of hooks) sandbox.write(`${gitDir}/hooks/${name}`, readFileSync(`${program}-hooks/${name}`), 0o755);
  sandbox.write(`${gitDir}/info/attributes`, '* filter=evil diff=evil merge=evil\n');
}

const tree = {
  'a.txt': 'one\n',
  '.gitattributes': '* filter=evil diff=evil merge=evil text eol=crlf\n',
  '.gitmodules': '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch evidence"\n',
};

describe.each(['commit', 'folder'] as const)('a hostile repository as the source of a %s', (kind) => {
  it('starts nothing and gives its files', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', tree);
    const { program, wasStarted } = createProgram(sandbox);
    poison(sandbox, 'origin/.git', program);
    const checkouts = openCheckouts(sandbox);
    const asked = request(kind === 'commit' ? { kind, repository: { path } } : { kind, path });
    const prepared = await checkouts.prepare(asked);
    expect(readFileSync(join(prepared.data.path, 'a.txt'), 'utf8')).toBe('one\n');
    sandbox.write(join('state/checkouts', asked.runId, 'files/a.txt'), 'two\n');
    expect((await checkouts.save(asked.runId, prepared)).data).toMatchObject({ files: 1 });
    expect(wasStarted()).toBe(false);
  });

  it('cannot make what a run writes into its own repository count', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', { 'a.txt': 'one\n' });
    const { program, wasStarted } = createProgram(sandbox);
    const checkouts = openCheckouts(sandbox);
    const asked = request(kind === 'commit' ? { kind, repository: { path } } : { kind, path });
    const prepared = await checkouts.prepare(asked);
    const files = join('state/checkouts', asked.runId, 'files');
    poison(sandbox, `${files}/.git`, program);
    sandbox.write(`${files}/.git/objects/info/alternates`, '/root/.ssh\n');
    sandbox.write(`${files}/.gitattributes`, '* filter=evil diff=evil\n');
    sandbox.write(`${files}/a.txt`, 'two\n');
    sandbox.git('.', 'init', '-q', `${files}/inner`);
    poison(sandbox, `${files}/inner/.git`, program);
    sandbox.write(`${files}/inner/kept.txt`, 'kept\n');
    const saved = await checkouts.save(asked.runId, prepared);
    const set = JSON.parse(saved.blobs.find(({ hash }) => hash === saved.data.changes)?.content as string);
    expect(set.changes.map((change: { path: string }) => change.path).sort()).toEqual(['.gitattributes', 'a.txt', 'inner/kept.txt']);
    expect(wasStarted()).toBe(false);
  });
});

it('gives a submodule an empty folder, and fetches nothing for it', async () => {
  using sandbox = createSandbox();
  sandbox.repository('sub', { 's.txt': 's\n' });
  sandbox.repository('origin', { 'a.txt': 'one\n' });
  sandbox.git('origin', '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', '../sub', 'x');
  sandbox.git('origin', 'commit', '-qm', 'with a submodule');
  const checkouts = openCheckouts(sandbox);
  const asked = request({ kind: 'commit', repository: { path: join(sandbox.folder, 'origin') } });
  const prepared = await checkouts.prepare(asked);
  expect(prepared.data.notices).toEqual(['submodules are empty folders in the copy: x']);
  expect(lstatSync(join(prepared.data.path, 'x')).isDirectory()).toBe(true);
  expect(existsSync(join(prepared.data.path, 'x/s.txt'))).toBe(false);
  expect((await checkouts.save(asked.runId, prepared)).data).toEqual({ changes: null, files: 0, notices: [], patch: null });
  // Files that a run puts there cannot be stored, so they are not deleted either.
  sandbox.write(join(prepared.data.path.slice(sandbox.folder.length + 1), 'x/new/n.txt'), 'new\n');
  sandbox.write(join(prepared.data.path.slice(sandbox.folder.length + 1), 'a.txt'), 'two\n');
  expect((await checkouts.save(asked.runId, prepared)).data).toMatchObject({
    changes: expect.any(String),
    files: 1,
    left: prepared.data.path,
    notices: [`files in the submodule x are not part of the result and were left in ${join(prepared.data.path, 'x')}`],
    unstored: ['x/'],
  });
  rmSync(join(prepared.data.path, 'x'), { recursive: true });
  sandbox.write(join(prepared.data.path.slice(sandbox.folder.length + 1), 'x'), 'a file instead\n');
  expect((await checkouts.save(asked.runId, prepared)).data).toMatchObject({ files: 1, left: prepared.data.path });
});

it('does not follow links of the repository when it writes saved changes', async () => {
  using sandbox = createSandbox();
  sandbox.write('outside/target.txt', 'safe\n');
  sandbox.repository('origin', {});
  sandbox.link(join(sandbox.folder, 'outside'), 'origin/dir');
  sandbox.git('origin', 'add', '-A');
  sandbox.git('origin', 'commit', '-qm', 'link');
  const asked = request({ kind: 'commit', repository: { path: join(sandbox.folder, 'origin') } });
  const content = Buffer.from('changed\n');
  const { createHash } = await import('node:crypto');
  const hash = createHash('sha256').update(content).digest('hex');
  const set = { v: 1 as const, changes: [{ path: 'dir/target.txt', before: null, after: { mode: '100644' as const, hash, bytes: 8 } }] };
  await openCheckouts(sandbox)
    .prepare({ ...asked, saved: { set, read: async () => content } })
    .catch(() => {});
  expect(readFileSync(join(sandbox.folder, 'outside/target.txt'), 'utf8')).toBe('safe\n');
});
