// Repositories behind an address: fetched once into a mirror, with the credentials of git on this machine and nowhere else.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { CheckoutRequest } from '../../src/ports/checkouts.ts';
import { startGitServer } from './git-server.ts';
import { createSandbox, nextRun, noFiles, openCheckouts, type Sandbox } from './support.ts';

const password = 'hunter2-hunter2';

function request(url: string, ref?: string): CheckoutRequest {
  const runId = nextRun();
  const source = { kind: 'commit' as const, repository: { url, ...(ref !== undefined && { ref }) } };
  return { runId, rootId: runId, source, previous: null, saved: null, attached: noFiles, signal: new AbortController().signal };
}

function createOrigin(sandbox: Sandbox): void {
  sandbox.repository('work', { 'a.txt': 'one\n' });
  sandbox.git('.', 'clone', '-q', '--bare', 'work', 'srv/origin.git');
}

/** Whether a text is in any file below a folder. */
function isAnywhere(folder: string, text: string): boolean {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).some((name) => {
    const path = join(folder, name);
    return statSync(path).isFile() && readFileSync(path).includes(text);
  });
}

it('fetches with the credential helper of the user, and stores no password', async () => {
  using sandbox = createSandbox();
  createOrigin(sandbox);
  await using server = await startGitServer(join(sandbox.folder, 'srv'), password);
  sandbox.write('home/.gitconfig', `[credential]\n\thelper = "!f() { echo username=user; echo password=${password}; }; f"\n`);
  const prepared = await openCheckouts(sandbox).prepare(request(`${server.url}/origin.git`));
  expect(readFileSync(join(prepared.data.path, 'a.txt'), 'utf8')).toBe('one\n');
  expect(server.requests.some(({ isAuthorized }) => isAuthorized)).toBe(true);
  expect(isAnywhere(join(sandbox.folder, 'state'), password)).toBe(false);
  expect(isAnywhere(join(sandbox.folder, 'state'), server.url)).toBe(false);
});

it('asks nobody for a password', async () => {
  using sandbox = createSandbox();
  createOrigin(sandbox);
  await using server = await startGitServer(join(sandbox.folder, 'srv'), password);
  await expect(openCheckouts(sandbox).prepare(request(`${server.url}/origin.git`))).rejects.toMatchObject({
    code: 'workspace',
    message: expect.stringContaining('credential helper'),
  });
});

it('fetches new commits, and a known commit not again', async () => {
  using sandbox = createSandbox();
  createOrigin(sandbox);
  await using server = await startGitServer(join(sandbox.folder, 'srv'));
  const url = `${server.url}/origin.git`;
  const checkouts = openCheckouts(sandbox);
  const first = await checkouts.prepare(request(url));
  sandbox.write('work/a.txt', 'two\n');
  sandbox.git('work', 'commit', '-qam', 'second');
  sandbox.git('work', 'push', '-q', '../srv/origin.git', 'main');
  const second = await checkouts.prepare(request(url, 'main'));
  expect(readFileSync(join(second.data.path, 'a.txt'), 'utf8')).toBe('two\n');
  const count = server.requests.length;
  const asked = request(url);
  const again = await checkouts.prepare({ ...asked, previous: first.data });
  expect(readFileSync(join(again.data.path, 'a.txt'), 'utf8')).toBe('one\n');
  expect(server.requests.length).toBe(count);
  expect(readdirSync(join(sandbox.folder, 'state/repositories')).filter((name) => name.endsWith('.git'))).toHaveLength(1);
});

it('serves many trees of one repository at the same time', async () => {
  using sandbox = createSandbox();
  createOrigin(sandbox);
  await using server = await startGitServer(join(sandbox.folder, 'srv'));
  // Two objects, as two processes have them.
  const workers = [openCheckouts(sandbox), openCheckouts(sandbox)];
  const made = await Promise.all(Array.from({ length: 8 }, (_, n) => workers[n % 2]?.prepare(request(`${server.url}/origin.git`))));
  expect(new Set(made.map((each) => each?.data.commit)).size).toBe(1);
  expect(new Set(made.map((each) => each?.data.path)).size).toBe(8);
});

it('says which name is missing', async () => {
  using sandbox = createSandbox();
  createOrigin(sandbox);
  await using server = await startGitServer(join(sandbox.folder, 'srv'));
  const message = expect.stringContaining('no branch, tag or commit named nothing');
  await expect(openCheckouts(sandbox).prepare(request(`${server.url}/origin.git`, 'nothing'))).rejects.toMatchObject({ message });
});
