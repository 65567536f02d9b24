// Git outside a sandbox: the configuration of a repository must not start programs.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { createBash } from '../../src/tools/bash.ts';
import { loadParser } from '../../src/tools/shell/analysis/parser.ts';
import { createWorld } from '../support/world.ts';
import { decideCommand, ownerRules } from './shell-support.ts';
import { makeWorkspace } from './support.ts';

beforeAll(loadParser);

const rules = ownerRules('ask bash', 'allow bash:git *');

function repository(config: string, folder = makeWorkspace().workspace): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: folder, env: { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1' }, stdio: 'ignore' });
  git('init', '-q');
  writeFileSync(join(folder, 'a.txt'), 'text\n');
  git('add', 'a.txt');
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'first');
  writeFileSync(join(folder, '.git/config'), `[core]\n\trepositoryformatversion = 0\n\tbare = false\n${config}`);
  return folder;
}

const outside = (workspace: string, command: string) => decideCommand(rules, command, workspace, { isConfined: false });

describe('settings of a repository that start programs', () => {
  test.each([
    ['[diff "evil"]\n\ttextconv = ./evil', 'git log -p'],
    ['[diff "evil"]\n\tcommand = ./evil', 'git diff'],
    ['[diff]\n\texternal = ./evil', 'git diff'],
    ['[core]\n\tfsmonitor = ./evil', 'git status'],
    ['[core]\n\tpager = ./evil', 'git log'],
    ['[core]\n\tworktree = /', 'git status'],
    ['[filter "evil"]\n\tclean = ./evil', 'git add a.txt'],
    ['[filter "lfs"]\n\tclean = git-lfs clean -- %f && ./evil', 'git status'],
    ['[gpg]\n\tprogram = ./evil', 'git log'],
    ['[include]\n\tpath = ../more', 'git log -p'],
    ['[core]\n\tsshCommand = ./evil', 'git fetch'],
    ['[core]\n\tsshCommand = ./evil\n[remote "x"]\n\tpromisor = true', 'git log -p'],
    ['[credential]\n\thelper = !./evil', 'git push'],
    ['[core]\n\teditor = ./evil', 'git commit -m x'],
    ['[core]\n\thooksPath = .', 'git commit -m x'],
    ['[rebase]\n\tinstructionFormat = %s%nexec ./evil', 'git rebase main'],
    ['[rebase]\n\tinstructionFormat = %s%nexec ./evil', 'git pull --rebase'],
    ['[rebase]\n\tinstructionFormat = alias\n[pretty]\n\talias = %s%x0aexec ./evil', 'git rebase main'],
  ])('%j: %s needs approval outside a sandbox', (config, command) => {
    const workspace = repository(config);
    writeFileSync(join(workspace, 'more'), '[diff "x"]\n\ttextconv = ./evil\n');
    expect(outside(workspace, command)).toBe('ask');
    expect(decideCommand(rules, command, workspace)).toBe('allow');
  });

  test.each([
    ['', 'git log -p'],
    ['[rebase]\n\tautosquash = true', 'git rebase main'],
    ['', 'git pull --rebase'],
    ['[core]\n\tfsmonitor = true', 'git status'],
    ['[core]\n\tsshCommand = ssh -i key', 'git log'],
    ['[core]\n\teditor = vi', 'git status'],
    ['[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process', 'git status'],
    ['[remote "origin"]\n\turl = https://example.com/x\n[branch "main"]\n\tremote = origin', 'git fetch'],
  ])('%j: %s is still allowed', (config, command) => {
    expect(outside(repository(config), command)).toBe('allow');
  });

  test('a subcommand that an alias can replace in new versions of git needs approval', () => {
    expect(outside(repository('[alias]\n\twhatchanged = !./evil'), 'git whatchanged')).toBe('ask');
  });

  test('hooks need approval for commands that change something', () => {
    const workspace = repository('');
    mkdirSync(join(workspace, '.git/hooks'), { recursive: true });
    const hook = join(workspace, '.git/hooks/pre-commit');
    writeFileSync(hook, '#!/bin/sh\n');
    expect(outside(workspace, 'git commit -m x')).toBe('allow');
    chmodSync(hook, 0o755);
    expect(outside(workspace, 'git commit -m x')).toBe('ask');
    expect(outside(workspace, 'git status')).toBe('allow');
    writeFileSync(join(workspace, '.git/hooks/post-index-change'), '#!/bin/sh\n', { mode: 0o755 });
    expect(outside(workspace, 'git status')).toBe('ask');
  });
});

test('`git log -p` does not start the text conversion of a hostile repository', async () => {
  await using world = await createWorld({
    script: { runs: [{ steps: [{ calls: [{ tool: 'bash', args: { command: 'git log -p' } }] }, { text: 'done' }] }] },
    tools: [createBash({ sandbox: null })],
    rulesets: rules,
  });
  const { workspace } = world;
  repository('[diff "evil"]\n\ttextconv = ./evil', workspace);
  writeFileSync(join(workspace, '.gitattributes'), '*.txt diff=evil\n');
  writeFileSync(join(workspace, 'evil'), '#!/bin/sh\ntouch started\ncat "$1"\n', { mode: 0o755 });
  await (await world.runtime.start({ task: 'go' })).outcome;
  const [result] = world.facts.flatMap((fact) => (fact.type === 'tool.finished' ? [fact.data] : []));
  expect(result?.status).toBe('denied');
  expect(existsSync(join(workspace, 'started'))).toBe(false);
  // Without the protection it would have been started.
  execFileSync('git', ['log', '-p'], { cwd: workspace, stdio: 'ignore', env: { PATH: process.env.PATH, HOME: workspace } });
  expect(existsSync(join(workspace, 'started'))).toBe(true);
});
