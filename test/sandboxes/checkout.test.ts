// Commands in a checkout: they see its files, its history and installed packages, and nothing else of where it came from.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createBash } from '../../src/tools/bash.ts';
import { call } from '../tools/support.ts';
import { createSandbox, nextRun, noFiles, openCheckouts } from '../workspaces/support.ts';
import { type As, onLinux, realSandbox, rightsOf } from './support.ts';

it.runIf(onLinux)('have a working repository and read-only packages', async () => {
  using sandbox = createSandbox();
  const path = sandbox.repository('work', { 'a.txt': 'one\n', '.gitignore': 'node_modules/\n' });
  sandbox.write('work/node_modules/x/index.js', 'package\n');
  sandbox.write('work/node_modules/.secret/key', 'secret\n');
  sandbox.write('work/untracked.txt', 'new\n');
  const runId = nextRun();
  const request = { runId, rootId: runId, source: { kind: 'folder' as const, path }, previous: null, saved: null, attached: noFiles };
  const files = await openCheckouts(sandbox).prepare({ ...request, signal: new AbortController().signal });
  const bash = createBash({ sandbox: await realSandbox() });
  const run = async (command: string, as: As = {}) =>
    (await call(bash, files.data.path, { command }, { rights: rightsOf(as), files })).output;
  expect(await run('git status --porcelain && git log --format=%s && cat untracked.txt')).toBe('Files as the run found them\nfirst\nnew');
  expect(await run('cat node_modules/x/index.js; touch node_modules/y')).toMatch(/^package\n.*Read-only file system/s);
  expect(await run('cat node_modules/.secret/key', { rules: ['deny read:node_modules/.secret'] })).toMatch(
    /No such file|Permission denied/,
  );
  expect(await run(`cat ${path}/a.txt ${join(files.data.path, '../owner.json')}`)).toMatch(/(No such file.*){2}/s);
  // The right to use git reaches only its own repository.
  const commit = 'git -c user.name=x -c user.email=x@y commit -qam x && git config core.hooksPath /evil && git log --format=%s';
  expect(await run(`echo two > a.txt; ${commit}`, { may: ['git'] })).toBe('x\nFiles as the run found them\nfirst');
  expect(sandbox.git('work', 'log', '--format=%s', '--all')).toBe('first');
  expect(readFileSync(join(path, '.git/config'), 'utf8')).not.toContain('evil');
  expect(existsSync(join(path, 'node_modules/y'))).toBe(false);
});
