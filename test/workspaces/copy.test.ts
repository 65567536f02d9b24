// Copies of a folder as it is now, for `isolation: worktree`, and what is kept of them.
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ChangeSet } from '../../src/contract/change-set.ts';
import type { CheckoutRequest, Checkouts, PreparedWorkspace } from '../../src/ports/checkouts.ts';
import { createSandbox, nextRun, noFiles, openCheckouts } from './support.ts';

function request(path: string): CheckoutRequest {
  const runId = nextRun();
  const source = { kind: 'folder' as const, path };
  return { runId, rootId: runId, source, previous: null, saved: null, attached: noFiles, signal: new AbortController().signal };
}

async function copy(checkouts: Checkouts, path: string) {
  const asked = request(path);
  const prepared = await checkouts.prepare(asked);
  return { runId: asked.runId, prepared, files: prepared.data.path };
}

async function save(checkouts: Checkouts, { runId, prepared }: { runId: string; prepared: PreparedWorkspace }) {
  const saved = await checkouts.save(runId, prepared);
  const blobs = new Map(saved.blobs.map(({ hash, content }) => [hash, content]));
  const set = saved.data.changes === null ? null : (JSON.parse(blobs.get(saved.data.changes) as string) as ChangeSet);
  const patch = saved.data.patch === null ? '' : Buffer.from(blobs.get(saved.data.patch) as Uint8Array).toString('latin1');
  return { ...saved, blobs, patch, changes: set?.changes ?? [], paths: set?.changes.map((change) => change.path) ?? [] };
}

/** Everything in a folder but `.git`, with kinds, modes and contents. */
function listFiles(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (name === '.git' || name.startsWith('.git/')) continue;
    const path = join(folder, name);
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) found[name] = `-> ${readlinkSync(path)}`;
    else if (stats.isFile()) found[name] = `${(stats.mode & 0o100) === 0 ? 'file' : 'program'} ${readFileSync(path, 'latin1')}`;
  }
  return found;
}

describe('a copy of a repository', () => {
  it('has the files as they are: committed, changed, staged, untracked, without ignored and deleted ones', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('work', {
      'a.txt': 'one\n',
      'changed.txt': 'old\n',
      'gone.txt': 'x\n',
      '.gitignore': '*.log\nbuild/\n',
      'dir/b.txt': 'b\n',
    });
    sandbox.write('work/changed.txt', 'new\n');
    sandbox.write('work/staged.txt', 'staged\n');
    sandbox.git('work', 'add', 'staged.txt');
    sandbox.write('work/untracked/u.bin', Buffer.from([0, 1, 2, 255]));
    sandbox.write('work/tool.sh', '#!/bin/sh\n', 0o755);
    symlinkSync('a.txt', join(path, 'link'));
    rmSync(join(path, 'gone.txt'));
    const expected = listFiles(path);
    sandbox.write('work/x.log', 'ignored\n');
    sandbox.write('work/build/out', 'ignored\n');
    sandbox.write('work/.retinue/retinue.db', 'own\n');
    const head = sandbox.git('work', 'rev-parse', 'HEAD');
    const before = [
      sandbox.git('work', 'status', '--porcelain'),
      sandbox.git('work', 'count-objects'),
      readFileSync(join(path, '.git/index'), 'latin1'),
    ];
    const { prepared, files } = await copy(openCheckouts(sandbox), path);
    expect(prepared.data).toMatchObject({ kind: 'copy', commit: head, notices: [] });
    expect(listFiles(files)).toEqual(expected);
    // The user's repository is as it was.
    expect([
      sandbox.git('work', 'status', '--porcelain'),
      sandbox.git('work', 'count-objects'),
      readFileSync(join(path, '.git/index'), 'latin1'),
    ]).toEqual(before);
    expect(lstatSync(join(files, '../..', '..')).mode & 0o077).toBe(0);
  });

  it.each([
    ['text=auto', '* text=auto\n'],
    ['eol', '*.txt text eol=lf\n'],
    ['ident and filters', '* ident filter=x\n'],
    ['no attributes', ''],
  ])('has the same bytes, with %s', async (_, attributes) => {
    using sandbox = createSandbox();
    sandbox.write('home/.gitconfig', '[core]\n\tautocrlf = input\n');
    const path = sandbox.repository('work', {
      'crlf.txt': 'a\r\nb\r\n',
      'lf.txt': 'a\nb\n',
      'id.txt': '$Id$\n',
      ...(attributes && { '.gitattributes': attributes }),
    });
    const checkouts = openCheckouts(sandbox);
    const made = await copy(checkouts, path);
    expect(listFiles(made.files)).toEqual(listFiles(path));
    expect((await save(checkouts, made)).paths).toEqual([]);
    writeFileSync(join(made.files, 'crlf.txt'), 'a\r\nc\r\n');
    const { blobs, changes } = await save(checkouts, made);
    expect(changes).toMatchObject([{ path: 'crlf.txt' }]);
    expect(Buffer.from(blobs.get(changes[0]?.after?.hash ?? '') as Uint8Array).toString()).toBe('a\r\nc\r\n');
  });

  it.each([
    ['text attributes', '* text=auto\n'],
    ['no attributes', ''],
  ])('has tracked files that are ignored, with %s', async (_, attributes) => {
    using sandbox = createSandbox();
    const path = sandbox.repository('work', { 'a.txt': 'a\n', ...(attributes && { '.gitattributes': attributes }) });
    sandbox.write('work/.gitignore', '*.log\ndist/\n');
    sandbox.write('work/keep.log', 'keep\r\n');
    sandbox.write('work/dist/app.js', 'app\n');
    sandbox.git('work', 'add', '-f', '.');
    sandbox.git('work', 'commit', '-qm', 'second');
    sandbox.write('work/dist/app.js', 'changed\n');
    const expected = listFiles(path);
    sandbox.write('work/other.log', 'ignored\n');
    const checkouts = openCheckouts(sandbox);
    const made = await copy(checkouts, path);
    expect(listFiles(made.files)).toEqual(expected);
    expect((await save(checkouts, made)).paths).toEqual([]);
    // Without an index that git can read, the commit says what is tracked.
    sandbox.git('work', 'update-index', '--split-index');
    expect(listFiles((await copy(checkouts, path)).files)).toEqual(expected);
  });

  it.each([
    ['text attributes', '* text=auto\n'],
    ['no attributes', ''],
  ])('has the present content of files that git does not look at, with %s', async (_, attributes) => {
    using sandbox = createSandbox();
    const files = { 'assumed.txt': 'old\n', 'skipped.txt': 'old\n', 'gone.txt': 'old\n', 'sparse.txt': 'old\n' };
    const path = sandbox.repository('work', { ...files, ...(attributes && { '.gitattributes': attributes }) });
    sandbox.git('work', 'update-index', '--assume-unchanged', 'assumed.txt', 'gone.txt');
    sandbox.git('work', 'update-index', '--skip-worktree', 'skipped.txt', 'sparse.txt');
    sandbox.write('work/assumed.txt', 'new\n');
    sandbox.write('work/skipped.txt', 'new\n');
    for (const name of ['gone.txt', 'sparse.txt']) rmSync(join(path, name));
    const { files: copied } = await copy(openCheckouts(sandbox), path);
    const { '.gitattributes': _attributes, ...found } = listFiles(copied);
    // A file outside a sparse checkout is in the copy, as git has it.
    expect(found).toEqual({ 'assumed.txt': 'file new\n', 'skipped.txt': 'file new\n', 'sparse.txt': 'file old\n' });
    expect(sandbox.git('work', 'ls-files', '-v', 'assumed.txt', 'skipped.txt')).toBe('h assumed.txt\nS skipped.txt');
  });

  it('counts only changed and untracked files, also if git converts them', async () => {
    using sandbox = createSandbox();
    const text = 'line\r\n'.repeat(100_000);
    const path = sandbox.repository('work', { '.gitattributes': '* text=auto\n', 'large.txt': text, 'small.txt': 'a\n' });
    // Git trusts the time of a file that is older than the index.
    utimesSync(join(path, 'large.txt'), 1e9, 1e9);
    sandbox.git('work', 'status');
    sandbox.write('work/small.txt', 'b\n');
    const checkouts = openCheckouts(sandbox, { maxBytes: 1000 });
    expect(listFiles((await copy(checkouts, path)).files)['large.txt']).toBe(`file ${text}`);
    sandbox.write('work/large.txt', `${text}more\n`);
    await expect(copy(checkouts, path)).rejects.toMatchObject({ code: 'workspace' });
  });

  it('is of the whole repository if the workspace is a part of it, and its changes are those of the workspace', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('work', { 'top.txt': 'top\n', 'pkg/a.txt': 'a\n', '.gitignore': '/pkg/out\n' });
    sandbox.write('work/pkg/new.txt', 'new\n');
    const checkouts = openCheckouts(sandbox);
    const made = await copy(checkouts, join(path, 'pkg'));
    expect(listFiles(made.files)).toEqual({ 'a.txt': 'file a\n', 'new.txt': 'file new\n' });
    writeFileSync(join(made.files, 'a.txt'), 'changed\n');
    mkdirSync(join(made.files, 'out'));
    writeFileSync(join(made.files, 'out/x'), 'ignored\n');
    const saved = await save(checkouts, made);
    expect(saved.paths).toEqual(['a.txt']);
    expect(saved.patch).toContain('diff --git a/a.txt b/a.txt');
    expect(saved.data.notices).toEqual(['ignored files are not part of the result: pkg/out/']);
  });

  it('copies ignored files that .worktreeinclude names, and they are no change', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('work', {
      '.gitignore': '.env*\nsecret/\nbig/\n',
      '.worktreeinclude': '.env\nsecret/*.pem\ntracked.txt\n',
      'tracked.txt': 't\n',
    });
    for (const [name, text] of Object.entries({ '.env': 'A=1\n', '.env.local': 'B=2\n', 'secret/a.pem': 'pem\n', 'secret/b.txt': 'b\n' }))
      sandbox.write(`work/${name}`, text);
    const checkouts = openCheckouts(sandbox);
    const made = await copy(checkouts, path);
    expect(Object.keys(listFiles(made.files)).sort()).toEqual(['.env', '.gitignore', '.worktreeinclude', 'secret/a.pem', 'tracked.txt']);
    writeFileSync(join(made.files, '.env'), 'A=2\n');
    expect(await save(checkouts, made)).toMatchObject({ paths: [], data: { notices: [] } });
  });

  it.each(['a repository', 'a plain folder'])('leaves out files of %s that have another name, which may be outside', async (kind) => {
    using sandbox = createSandbox();
    const files = { '.gitignore': '.env\n', '.worktreeinclude': '.env\n', 'changed.txt': 'committed\n', 'same.txt': 'same\n' };
    const path = sandbox.repository('work', files);
    if (kind === 'a plain folder') rmSync(join(path, '.git'), { recursive: true });
    sandbox.write('outside/secret', 'secret\n');
    sandbox.write('outside/same', 'same\n');
    for (const [name, other] of [
      ['new.txt', 'secret'],
      ['changed.txt', 'secret'],
      ['.env', 'secret'],
      ['same.txt', 'same'],
    ] as const) {
      rmSync(join(path, name), { force: true });
      linkSync(join(sandbox.folder, 'outside', other), join(path, name));
    }
    const { prepared, files: copied } = await copy(openCheckouts(sandbox), path);
    const text = JSON.stringify(listFiles(copied));
    expect(text).not.toContain('secret');
    if (kind === 'a repository') expect(listFiles(copied)).toMatchObject({ 'changed.txt': 'file committed\n', 'same.txt': 'file same\n' });
    expect(prepared.data.notices.join('\n')).toMatch(/left out, because they have several hard links: .*changed\.txt, new\.txt/);
    expect(prepared.data.notices.join('\n')).toContain('.env');
  });

  it('is the base of a copy of its own: the files of the parent as they are', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('work', { 'a.txt': 'one\n', 'b.txt': 'b\n' });
    const checkouts = openCheckouts(sandbox);
    const parent = await copy(checkouts, path);
    writeFileSync(join(parent.files, 'a.txt'), 'parent\n');
    writeFileSync(join(parent.files, 'new.txt'), 'parent\n');
    const child = await copy(checkouts, parent.files);
    expect(listFiles(child.files)).toEqual({ 'a.txt': 'file parent\n', 'b.txt': 'file b\n', 'new.txt': 'file parent\n' });
    writeFileSync(join(child.files, 'b.txt'), 'child\n');
    expect((await save(checkouts, child)).paths).toEqual(['b.txt']);
    expect((await save(checkouts, parent)).paths).toEqual(['a.txt', 'new.txt']);
  });

  it('is refused for a bare or broken repository, and for too many files', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('work', { 'a.txt': 'one\n' });
    sandbox.git('.', 'clone', '-q', '--bare', 'work', 'bare.git');
    await expect(copy(openCheckouts(sandbox), join(sandbox.folder, 'bare.git'))).rejects.toMatchObject({
      code: 'workspace',
      message: expect.stringContaining('bare'),
    });
    sandbox.write('broken/.git', 'gitdir: /nowhere\n');
    await expect(copy(openCheckouts(sandbox), join(sandbox.folder, 'broken'))).rejects.toMatchObject({
      code: 'workspace',
      message: expect.stringContaining('broken'),
    });
    sandbox.write('work/large.bin', Buffer.alloc(2_000_000, 1));
    const small = openCheckouts(sandbox, { maxBytes: 1_000_000 });
    await expect(copy(small, path)).rejects.toMatchObject({ code: 'workspace', message: expect.stringContaining('.gitignore') });
    expect(readdirSync(join(sandbox.folder, 'state/checkouts'))).toEqual([]);
  });

  it('can be made sixteen times at once, by several processes', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('work', Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`f${n}.txt`, `${n}\n`])));
    const workers = Array.from({ length: 4 }, () => openCheckouts(sandbox));
    const made = await Promise.all(Array.from({ length: 16 }, (_, n) => copy(workers[n % 4] as Checkouts, path)));
    for (const [n, { files }] of made.entries()) writeFileSync(join(files, 'own.txt'), `${n}\n`);
    const saved = await Promise.all(made.map((each, n) => save(workers[n % 4] as Checkouts, each)));
    expect(saved.map(({ paths }) => paths)).toEqual(Array(16).fill(['own.txt']));
    await Promise.all(made.map(({ runId, prepared }, n) => workers[n % 4]?.remove(runId, prepared)));
    expect(sandbox.git('work', 'status', '--porcelain')).toBe('');
    expect(readdirSync(join(sandbox.folder, 'state/checkouts'))).toEqual([]);
  });
});

describe('a copy of a folder without a repository', () => {
  it('has its files, but not its installed packages', async () => {
    using sandbox = createSandbox();
    for (const [name, text] of Object.entries({ 'a.txt': 'a\n', 'dir/b.bin': '\0\u00ff', 'node_modules/x/i.js': 'x\n' }))
      sandbox.write(`plain/${name}`, text);
    const checkouts = openCheckouts(sandbox);
    const made = await copy(checkouts, join(sandbox.folder, 'plain'));
    expect(Object.keys(listFiles(made.files)).sort()).toEqual(['a.txt', 'dir/b.bin']);
    expect(made.prepared).toMatchObject({ data: { commit: null }, mounts: [{ path: 'node_modules' }] });
    writeFileSync(join(made.files, 'a.txt'), 'changed\n');
    expect((await save(checkouts, made)).paths).toEqual(['a.txt']);
  });

  it('has links, programs and files of repositories in it; the files can be written', async () => {
    using sandbox = createSandbox();
    sandbox.write('plain/.gitignore', '*.log\n');
    sandbox.write('plain/x.log', 'ignored\n');
    sandbox.write('plain/tool.sh', '#!/bin/sh\n', 0o750);
    sandbox.write('plain/fixed.txt', 'fixed\n', 0o400);
    sandbox.link('nowhere', 'plain/link');
    sandbox.repository('plain/inner', { 'i.txt': 'i\n', 'i.log': 'log\n' });
    const checkouts = openCheckouts(sandbox);
    const made = await copy(checkouts, join(sandbox.folder, 'plain'));
    const { 'x.log': _ignored, ...expected } = listFiles(join(sandbox.folder, 'plain'));
    const visible = Object.entries(expected).filter(([name]) => !name.startsWith('inner/.git/'));
    expect(listFiles(made.files)).toEqual(Object.fromEntries(visible));
    expect(lstatSync(join(made.files, 'fixed.txt')).mode & 0o777).toBe(0o644);
    expect((await save(checkouts, made)).paths).toEqual([]);
    for (const name of ['inner/i.log', 'fixed.txt']) writeFileSync(join(made.files, name), 'changed\n');
    expect((await save(checkouts, made)).paths).toEqual(['fixed.txt', 'inner/i.log']);
    expect(readFileSync(join(sandbox.folder, 'plain/fixed.txt'), 'utf8')).toBe('fixed\n');
    await expect(copy(openCheckouts(sandbox, { maxBytes: 10 }), join(sandbox.folder, 'plain'))).rejects.toMatchObject({
      code: 'workspace',
    });
  });

  it('works if the checkouts are below it', async () => {
    using sandbox = createSandbox();
    sandbox.write('a.txt', 'a\n');
    const checkouts = openCheckouts(sandbox);
    await copy(checkouts, sandbox.folder);
    const { files } = await copy(checkouts, sandbox.folder);
    expect(Object.keys(listFiles(files))).toEqual(['a.txt']);
  });
});

describe('what is kept of a copy', () => {
  it('has changes of every kind, with contents before and after', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('work', {
      'edit.txt': 'old\n',
      'gone.txt': 'gone\n',
      'mode.sh': '#!/bin/sh\n',
      'old-name.txt': 'moved\n',
      'to-link': 'x\n',
      'to-folder': 'x\n',
      'dir/f': 'f\n',
    });
    sandbox.write('work/binary', Buffer.from([0, 1]));
    const checkouts = openCheckouts(sandbox);
    const made = await copy(checkouts, path);
    const at = (name: string) => join(made.files, name);
    writeFileSync(at('edit.txt'), 'new\n');
    writeFileSync(at('binary'), Buffer.from([0, 2, 255]));
    for (const name of ['gone.txt', 'to-link', 'to-folder', 'old-name.txt']) rmSync(at(name));
    rmSync(at('dir'), { recursive: true });
    writeFileSync(at('dir'), 'now a file\n');
    writeFileSync(at('new-name.txt'), 'moved\n');
    chmodSync(at('mode.sh'), 0o755);
    symlinkSync('edit.txt', at('to-link'));
    mkdirSync(at('to-folder'));
    writeFileSync(at('to-folder/inner'), 'inner\n');
    writeFileSync(at('strange "name"\t\u00fc.txt'), 'x\n');
    const { changes, blobs, patch, data } = await save(checkouts, made);
    expect(data.notices).toEqual([]);
    const modes = Object.fromEntries(
      changes.map(({ path: name, before, after }) => [name, `${before?.mode ?? '-'} ${after?.mode ?? '-'}`]),
    );
    expect(modes).toEqual({
      binary: '100644 100644',
      dir: '- 100644',
      'dir/f': '100644 -',
      'edit.txt': '100644 100644',
      'gone.txt': '100644 -',
      'mode.sh': '100644 100755',
      'new-name.txt': '- 100644',
      'old-name.txt': '100644 -',
      'strange "name"\t\u00fc.txt': '- 100644',
      'to-folder': '100644 -',
      'to-folder/inner': '- 100644',
      'to-link': '100644 120000',
    });
    expect(data.files).toBe(12);
    for (const { before, after } of changes) for (const side of [before, after]) if (side) expect(blobs.has(side.hash)).toBe(true);
    // The patch alone is enough to make the same changes elsewhere.
    sandbox.git('.', 'clone', '-q', 'work', 'other');
    sandbox.write('other/binary', Buffer.from([0, 1]));
    sandbox.write('p', Buffer.from(patch, 'latin1'));
    sandbox.git('other', 'apply', '../p');
    expect(listFiles(join(sandbox.folder, 'other'))).toEqual(listFiles(made.files));
  });

  it('has files of a repository that the run made, and says what a changed .gitignore hides', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('work', { 'a.txt': 'a\n' });
    const checkouts = openCheckouts(sandbox);
    const made = await copy(checkouts, path);
    sandbox.repository(join(made.files.slice(sandbox.folder.length + 1), 'inner'), { 'x.txt': 'x\n' });
    writeFileSync(join(made.files, '.gitignore'), 'hidden.txt\n');
    writeFileSync(join(made.files, 'hidden.txt'), 'h\n');
    const saved = await save(checkouts, made);
    expect(saved.paths.sort()).toEqual(['.gitignore', 'inner/x.txt']);
    expect(saved.data.notices).toEqual(['ignored files are not part of the result: hidden.txt']);
  });

  it('stays on disk if it cannot be stored', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('work', { 'a.txt': 'a\n' });
    const made = await copy(openCheckouts(sandbox), path);
    writeFileSync(join(made.files, 'large.bin'), Buffer.alloc(2_000_000, 1));
    const saved = await openCheckouts(sandbox, { maxBytes: 1_000_000 }).save(made.runId, made.prepared);
    expect(saved.data).toMatchObject({ changes: null, left: made.files, notices: [expect.stringContaining('left in')] });
    expect(existsSync(join(made.files, 'large.bin'))).toBe(true);
  });
});
