// Checkouts of repositories, as a worker makes them.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Repository } from '../../src/contract/repository.ts';
import type { CheckoutRequest } from '../../src/ports/checkouts.ts';
import { createSandbox, nextRun, noFiles, openCheckouts } from './support.ts';

function request(repository: Repository, more: Partial<CheckoutRequest> = {}): CheckoutRequest {
  const runId = nextRun();
  const source = { kind: 'commit' as const, repository };
  return { runId, rootId: runId, source, previous: null, saved: null, attached: noFiles, signal: new AbortController().signal, ...more };
}

describe('a checkout of a repository', () => {
  it.each(['path', 'file://'])('has the files of the commit, given as %s', async (form) => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', { 'a.txt': 'one\n', 'lib/b.txt': 'two\n' });
    const commit = sandbox.git('origin', 'rev-parse', 'HEAD');
    sandbox.write('origin/a.txt', 'not committed\n');
    const checkouts = openCheckouts(sandbox);
    const { data, isKept } = await checkouts.prepare(request(form === 'path' ? { path } : { url: `file://${path}` }));
    expect(data).toMatchObject({ kind: 'checkout', commit, notices: [] });
    expect(isKept).toBe(false);
    expect(readFileSync(join(data.path, 'a.txt'), 'utf8')).toBe('one\n');
    expect(readFileSync(join(data.path, 'lib/b.txt'), 'utf8')).toBe('two\n');
  });

  it('uses a branch, a tag or a commit, also of a bare repository with packed refs', async () => {
    using sandbox = createSandbox();
    sandbox.repository('work', { 'a.txt': 'one\n' });
    const first = sandbox.git('work', 'rev-parse', 'HEAD');
    sandbox.git('work', 'tag', '-a', 'v1', '-m', 'v1');
    sandbox.git('work', 'checkout', '-q', '-b', 'feature/x');
    sandbox.write('work/a.txt', 'two\n');
    sandbox.git('work', 'commit', '-qam', 'second');
    sandbox.git('.', 'clone', '-q', '--bare', 'work', 'origin.git');
    sandbox.git('origin.git', 'pack-refs', '--all');
    const path = join(sandbox.folder, 'origin.git');
    const checkouts = openCheckouts(sandbox);
    const text = async (ref: string) => readFileSync(join((await checkouts.prepare(request({ path, ref }))).data.path, 'a.txt'), 'utf8');
    expect(await text('feature/x')).toBe('two\n');
    expect(await text('v1')).toBe('one\n');
    expect(await text(first)).toBe('one\n');
    expect(await text('main')).toBe('one\n');
    await expect(text('nothing')).rejects.toMatchObject({
      code: 'workspace',
      message: expect.stringContaining('no branch, tag or commit named nothing'),
    });
  });

  it('changes nothing in the repository that it borrows from', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', { 'a.txt': 'one\n' });
    const list = () => readdirSync(join(path, '.git'), { recursive: true, encoding: 'utf8' }).sort();
    const before = list();
    const checkouts = openCheckouts(sandbox);
    const asked = request({ path });
    const prepared = await checkouts.prepare(asked);
    sandbox.write(join('state/checkouts', asked.runId, 'files/new.txt'), 'new\n');
    await checkouts.save(asked.runId, prepared);
    await checkouts.remove(asked.runId, prepared);
    expect(list()).toEqual(before);
    expect(existsSync(prepared.data.path)).toBe(false);
  });

  it('is a repository for the commands of the run, with its history', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', { 'a.txt': 'one\n' });
    const { data } = await openCheckouts(sandbox).prepare(request({ path }));
    const inside = data.path.slice(sandbox.folder.length + 1);
    expect(sandbox.git(inside, 'status', '--porcelain')).toBe('');
    expect(sandbox.git(inside, 'log', '--format=%s')).toBe('first');
  });

  it('keeps what an earlier process of the run left', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', { 'a.txt': 'one\n' });
    const checkouts = openCheckouts(sandbox);
    const asked = request({ path });
    const { data: previous } = await checkouts.prepare(asked);
    sandbox.write(join('state/checkouts', asked.runId, 'files/a.txt'), 'half done\n');
    const again = await checkouts.prepare({ ...asked, previous });
    expect(again).toMatchObject({ isKept: true, data: previous });
    expect(readFileSync(join(again.data.path, 'a.txt'), 'utf8')).toBe('half done\n');
  });

  it('is made again on another machine: the same commit, with the changes that were saved', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', { 'a.txt': 'one\n', 'gone.txt': 'x\n', 'tool.sh': '#!/bin/sh\n' });
    const asked = request({ path });
    const first = openCheckouts(sandbox);
    const prepared = await first.prepare(asked);
    const files = join('state/checkouts', asked.runId, 'files');
    sandbox.write(join(files, 'a.txt'), 'changed\n');
    sandbox.write(join(files, 'deep/new.bin'), Buffer.from([0, 255, 1, 254]));
    sandbox.write(join(files, 'tool.sh'), '#!/bin/sh\n', 0o755);
    rmSync(join(sandbox.folder, files, 'gone.txt'));
    const saved = await first.save(asked.runId, prepared);
    // The repository has moved on meanwhile.
    sandbox.write('origin/a.txt', 'newer\n');
    sandbox.git('origin', 'commit', '-qam', 'second');
    const blobs = new Map(saved.blobs.map(({ hash, content }) => [hash, content]));
    const set = JSON.parse(blobs.get(saved.data.changes as string) as string);
    const other = openCheckouts(sandbox, { root: join(sandbox.folder, 'other-machine') });
    const again = await other.prepare({ ...asked, previous: prepared.data, saved: { set, read: async (hash) => blobs.get(hash) ?? null } });
    expect(again).toMatchObject({ isKept: false, data: { commit: prepared.data.commit, base: prepared.data.base } });
    expect(again.data.path).not.toBe(prepared.data.path);
    expect(readFileSync(join(again.data.path, 'a.txt'), 'utf8')).toBe('changed\n');
    expect(readFileSync(join(again.data.path, 'deep/new.bin'))).toEqual(Buffer.from([0, 255, 1, 254]));
    expect(existsSync(join(again.data.path, 'gone.txt'))).toBe(false);
    expect((await other.save(asked.runId, again)).data).toMatchObject({ changes: saved.data.changes, patch: saved.data.patch, files: 4 });
  });
});

describe('what a worker may use', () => {
  it('is only what it shares', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', { 'a.txt': 'one\n' });
    const closed = openCheckouts(sandbox, { shared: [], placesRoots: true });
    await expect(closed.prepare(request({ path }))).rejects.toMatchObject({
      code: 'workspace',
      message: expect.stringContaining('--shared'),
    });
    await expect(closed.prepare(request({ url: `file://${path}` }))).rejects.toMatchObject({ code: 'workspace' });
    await expect(closed.prepare({ ...request({ path }), source: { kind: 'directory', path } })).rejects.toMatchObject({
      code: 'workspace',
    });
    await expect(closed.prepare({ ...request({ path }), source: { kind: 'folder', path } })).rejects.toMatchObject({ code: 'workspace' });
    const open = openCheckouts(sandbox, { shared: [sandbox.folder], placesRoots: true });
    expect((await open.prepare({ ...request({ path }), source: { kind: 'directory', path } })).data).toMatchObject({
      kind: 'directory',
      path,
    });
  });

  it('is not a repository elsewhere that a file of the shared folder points to', async () => {
    using sandbox = createSandbox();
    const secret = sandbox.repository('secret', { 'key.txt': 'secret\n' });
    sandbox.write('shared/.git', `gitdir: ${join(secret, '.git')}\n`);
    const checkouts = openCheckouts(sandbox, { shared: [join(sandbox.folder, 'shared')] });
    await expect(checkouts.prepare(request({ path: join(sandbox.folder, 'shared') }))).rejects.toMatchObject({ code: 'workspace' });
  });
});

describe('bad input', () => {
  it.each([
    ['a missing folder', (folder: string) => ({ path: join(folder, 'missing') }), 'does not exist'],
    ['a folder without a repository', (folder: string) => ({ path: join(folder, 'home') }), 'not a git repository'],
    ['a server that does not exist', () => ({ url: 'http://127.0.0.1:9/x.git' }), 'could not be fetched'],
  ])('says what to do about %s', async (_, repository, message) => {
    using sandbox = createSandbox();
    await expect(openCheckouts(sandbox).prepare(request(repository(sandbox.folder)))).rejects.toMatchObject({
      code: 'workspace',
      message: expect.stringContaining(message),
    });
    expect(existsSync(join(sandbox.folder, 'state/checkouts')) ? readdirSync(join(sandbox.folder, 'state/checkouts')) : []).toEqual([]);
  });

  it('does without git only with a sentence', async () => {
    using sandbox = createSandbox();
    const path = sandbox.repository('origin', {});
    const checkouts = openCheckouts(sandbox, { env: { PATH: '/nonexistent', HOME: sandbox.folder } });
    await expect(checkouts.prepare(request({ path }))).rejects.toMatchObject({
      code: 'workspace',
      message: expect.stringContaining('git is not installed'),
    });
  });
});
