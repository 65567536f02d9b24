// A command is analysed as written, so nothing outside it may change how it runs.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { createBash } from '../../src/tools/bash.ts';
import { loadParser } from '../../src/tools/shell/analysis/parser.ts';
import { shellSubjects } from '../../src/tools/shell/analysis/shell-subjects.ts';
import { findShell, shellArguments } from '../../src/tools/shell/environment.ts';
import { decideCommand, ownerRules } from './shell-support.ts';
import { call, makeWorkspace } from './support.ts';

beforeAll(loadParser);

function program(folder: string, name: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), '#!/bin/sh\necho hostile\n');
  chmodSync(join(folder, name), 0o755);
}

test('uses no start-up files and no functions or options of the environment', () => {
  const { outside } = makeWorkspace();
  const hostile = join(outside, 'hostile');
  writeFileSync(hostile, 'echo hostile; printf() { echo hostile; }\n');
  for (const file of ['.bashrc', '.bash_profile', '.profile', '.bash_login']) symlinkSync(hostile, join(outside, file));
  const env = {
    BASH_ENV: hostile,
    ENV: hostile,
    HOME: outside,
    'BASH_FUNC_printf%%': '() { echo hostile; }',
    SHELLOPTS: 'xtrace:allexport',
    BASHOPTS: 'expand_aliases:extglob',
    CDPATH: '/',
    SSH_CLIENT: '1 2 3',
    PATH: process.env.PATH ?? '',
  };
  const [shell, ...rest] = shellArguments(
    findShell('/usr/bin:/bin', '/nowhere'),
    'printf "%s" "$-"; shopt -q extglob && echo hostile; true',
  ) as [string, ...string[]];
  expect(execFileSync(shell, rest, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })).not.toMatch(/hostile|x/);
});

test('nothing carries over to the next call', async () => {
  const { workspace } = makeWorkspace();
  const bash = createBash({ sandbox: null });
  await call(bash, workspace, {
    command: 'export PATH=/nowhere GIT_PAGER=x; cd /; ls() { echo hostile; }; export -f ls; alias ls=hostile; set -a',
  });
  const { output } = await call(bash, workspace, { command: 'ls; pwd; echo "$GIT_PAGER" "$PATH"' });
  expect(output).not.toMatch(/hostile|nowhere/);
  expect(output).toContain('workspace');
});

test('programs are never taken from the workspace, whatever its name', async () => {
  const { workspace, outside } = makeWorkspace();
  program(join(workspace, 'bin'), 'ls');
  symlinkSync(join(workspace, 'bin'), join(outside, 'door'));
  const bash = createBash({ sandbox: null, env: { PATH: `bin:${join(workspace, 'bin')}:${join(outside, 'door')}:/usr/bin:/bin` } });
  expect((await call(bash, workspace, { command: 'ls' })).output).toBe('bin');
});

describe('links', () => {
  const rules = ownerRules('ask bash', 'allow bash:cat *', 'allow bash:cd *', 'allow bash:cp *');
  function withLinks(): string {
    const { workspace, outside } = makeWorkspace();
    writeFileSync(join(outside, 'secret'), '');
    mkdirSync(join(workspace, 'sub'));
    writeFileSync(join(workspace, 'plain'), '');
    symlinkSync(join(outside, 'secret'), join(workspace, 'out'));
    symlinkSync(join(outside, 'secret'), join(workspace, 'sub/deep'));
    symlinkSync(join(outside, 'new'), join(workspace, 'dangling'));
    symlinkSync(outside, join(workspace, 'folder'));
    symlinkSync('plain', join(workspace, 'in'));
    return workspace;
  }

  test.each(['cat plain', 'cat in', 'cat sub/x', 'cd sub && cat x', 'cp plain other'])('inside: %s', (command) =>
    expect(decideCommand(rules, command, withLinks())).toBe('allow'),
  );
  test.each([
    'cat out',
    'cat ./out',
    'cat sub/../out',
    'cat folder/secret',
    'cat -- out',
    'cd folder',
    'cd folder && cat secret',
    'cd sub && cat deep',
    'cat sub/deep',
    'cat --x=out',
    'cp plain dangling',
    'cat < out',
  ])('outside: %s', (command) => expect(decideCommand(rules, command, withLinks())).toBe('ask'));

  test('a rule about writing matches the target of a link', () => {
    const { workspace } = makeWorkspace();
    mkdirSync(join(workspace, 'secrets'));
    symlinkSync('secrets', join(workspace, 'door'));
    expect(decideCommand(ownerRules('allow bash', 'deny write:secrets/*'), 'echo x > door/a', workspace)).toBe('deny');
  });
});

test('absolute paths of the workspace are inside', () => {
  const { workspace, outside } = makeWorkspace();
  const rules = ownerRules('ask bash', 'allow bash:cat *');
  expect(decideCommand(rules, `cat ${workspace}/a`, workspace)).toBe('allow');
  expect(decideCommand(rules, `cat ${workspace}-2/a`, workspace)).toBe('ask');
  expect(decideCommand(rules, `cat ${workspace}/../outside/a`, workspace)).toBe('ask');
  expect(decideCommand(rules, `cat ${outside}/a`, workspace)).toBe('ask');
});

test('without bash every command is unsafe', () => {
  const subjects = shellSubjects("git log $'a'; ls", '/nowhere', { hasBash: false });
  expect(subjects).toEqual([
    { text: 'git log a', unsafe: expect.any(String) },
    { text: 'ls', unsafe: expect.any(String) },
  ]);
});

test.each([
  ['git log (', /does not parse as bash; check quotes/],
  ['git log \u202ex', /invisible character \(U\+202E\); use plain/],
  ['ls; '.repeat(60), /more than 50 parts; write it as several/],
  ['x'.repeat(20_001), /longer than 20000 characters; put it into a script/],
])('a denial says what is wrong and what to do (%#)', (command, message) => {
  expect(() => shellSubjects(command, '/nowhere')).toThrow(
    expect.objectContaining({ code: 'denied', message: expect.stringMatching(message) }),
  );
});
