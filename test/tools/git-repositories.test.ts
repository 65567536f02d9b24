// Git outside a sandbox, with real repositories that a hostile archive may contain. Each starts a program with real git, so no rule may allow it; usual
// repositories stay allowed.
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadParser } from '../../src/tools/shell/analysis/parser.ts';
import { decideCommand, ownerRules } from './shell-support.ts';
import { makeWorkspace } from './support.ts';

beforeAll(loadParser);

const rules = ownerRules('ask bash', 'allow bash:git *');
const decide = (workspace: string, command: string) => decideCommand(rules, command, workspace, { isConfined: false });

class Repository {
  readonly folder: string;
  readonly home: string;
  readonly marker: string;
  constructor(folder = makeWorkspace().workspace) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
    this.home = join(folder, '..');
    this.marker = join(this.home, 'started');
    this.git('init', '-q', '-b', 'main');
    this.write('a', 'a\n');
    this.git('add', 'a');
    this.git('commit', '-qm', 'a');
  }
  get env(): NodeJS.ProcessEnv {
    const names = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' };
    return { PATH: process.env.PATH, HOME: this.home, GIT_CONFIG_NOSYSTEM: '1', ...names };
  }
  git(...args: string[]): void {
    execFileSync('git', args, { cwd: this.folder, env: this.env, stdio: 'ignore' });
  }
  write(name: string, text: string, mode = 0o644): void {
    mkdirSync(join(this.folder, name, '..'), { recursive: true });
    writeFileSync(join(this.folder, name), text, { mode });
  }
  /** Settings whose program leaves the marker. */
  get monitor(): string {
    return `\n[core]\n\tfsmonitor = "touch ${this.marker}; false"\n`;
  }
  get script(): string {
    return `#!/bin/sh\ntouch ${this.marker}\n`;
  }
  starts(command: string, folder = this.folder): boolean {
    rmSync(this.marker, { force: true });
    spawnSync('bash', ['-c', command], { cwd: folder, env: this.env, stdio: 'ignore' });
    return existsSync(this.marker);
  }
}

type Case = [name: string, command: string, prepare: (repository: Repository) => string | undefined];

const cases: Case[] = [
  [
    'hooks in another folder, also for commands that only read',
    'git status',
    (it) => {
      it.write('h/post-index-change', it.script, 0o755);
      it.git('config', 'core.hooksPath', 'h');
      execFileSync('touch', ['-d', '2001-01-01', join(it.folder, 'a')]);
      return undefined;
    },
  ],
  [
    'the command for the key of signatures',
    'git commit --allow-empty -m x',
    (it) => {
      appendFileSync(
        join(it.folder, '.git/config'),
        `[commit]\n\tgpgSign = true\n[gpg]\n\tformat = ssh\n[gpg "ssh"]\n\tdefaultKeyCommand = touch ${it.marker}\n`,
      );
      return undefined;
    },
  ],
  [
    'a hook of a local repository that a remote leads to',
    'git push origin main',
    (it) => {
      it.git('init', '-q', '--bare', '../other');
      writeFileSync(join(it.home, 'other/hooks/pre-receive'), it.script, { mode: 0o755 });
      it.git('config', 'remote.origin.url', '../other');
      return undefined;
    },
  ],
  [
    'the same, named by a branch',
    'git push',
    (it) => {
      it.git('init', '-q', '--bare', 'other');
      writeFileSync(join(it.folder, 'other/hooks/pre-receive'), it.script, { mode: 0o755 });
      appendFileSync(
        join(it.folder, '.git/config'),
        '[branch "main"]\n\tremote = other\n\tmerge = refs/heads/main\n[push]\n\tdefault = current\n',
      );
      return undefined;
    },
  ],
  [
    'the same, in a file of an old kind',
    'git push old main',
    (it) => {
      it.git('init', '-q', '--bare', '../other');
      writeFileSync(join(it.home, 'other/hooks/pre-receive'), it.script, { mode: 0o755 });
      it.write('.git/remotes/old', 'URL: ../other\n');
      return undefined;
    },
  ],
  [
    'steps of an unfinished rebase',
    'git rebase --continue',
    (it) => {
      it.git('checkout', '-q', '--detach');
      const head = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: it.folder, encoding: 'utf8' });
      const state = { onto: head, 'orig-head': head, 'head-name': 'refs/heads/main', done: '', msgnum: '1', end: '1', interactive: '' };
      for (const [name, text] of Object.entries({ ...state, 'git-rebase-todo': `exec touch ${it.marker}\n` }))
        it.write(`.git/rebase-merge/${name}`, text);
      return undefined;
    },
  ],
  ['a nested repository', 'git status', (it) => nest(it, true)],
  ['a nested repository, with an index of version 4', 'git status', (it) => nest(it, true, '4')],
  ['a nested repository that the same line adds', 'git add . && git status', (it) => nest(it, false)],
  [
    'a nested repository that another branch links',
    'git checkout evil',
    (it) => {
      it.git('checkout', '-q', '-b', 'evil');
      nest(it, true);
      it.git('commit', '-qm', 'link');
      it.git('rm', '-q', '--cached', 's');
      it.git('symbolic-ref', 'HEAD', 'refs/heads/main');
      return undefined;
    },
  ],
  [
    'the last of many included files',
    'git status',
    (it) => {
      for (let n = 0; n < 25; n++) {
        it.write(`.git/c${n}`, n === 24 ? it.monitor : '');
        it.git('config', '--add', 'include.path', `c${n}`);
      }
      return undefined;
    },
  ],
  [
    'a large configuration',
    'git status',
    (it) => appendFileSync(join(it.folder, '.git/config'), `${'# padding padding padding\n'.repeat(50_000)}${it.monitor}`) as undefined,
  ],
  ...['~/../../../../../../../proc/self/cwd/evil', '%(prefix)/../../../../../proc/self/cwd/evil'].map(
    (path): Case => [
      `an included file, ${path}`,
      'git status',
      (it) => {
        it.write('evil', it.monitor);
        it.git('config', 'include.path', path);
        return undefined;
      },
    ],
  ),
  [
    'the configuration of a linked worktree',
    'git status',
    (it) => {
      it.git('config', 'extensions.worktreeConfig', 'true');
      it.git('worktree', 'add', '-q', 'x');
      renameSync(join(it.folder, '.git'), join(it.folder, 'real'));
      it.write('real/worktrees/x/config.worktree', `${it.monitor}\tworktree = ${it.folder}\n`);
      it.write('.git', 'gitdir: real/worktrees/x\n');
      return undefined;
    },
  ],
  [
    'a repository at the top beside an empty `.git`',
    'git status',
    (it) => {
      cpSync(join(it.folder, '.git'), it.folder, { recursive: true });
      rmSync(join(it.folder, '.git'), { recursive: true });
      mkdirSync(join(it.folder, '.git'));
      it.write('config', `[core]\n\trepositoryformatversion = 0\n\tworktree = ./\n${it.monitor}`);
      return undefined;
    },
  ],
  [
    'a file `.git` with two lines',
    'git status',
    (it) => {
      renameSync(join(it.folder, '.git'), join(it.folder, 'evil\nx'));
      it.git('init', '-q', '--separate-git-dir', 'evil', 'benign');
      appendFileSync(join(it.folder, 'evil\nx/config'), it.monitor);
      it.write('.git', 'gitdir: evil\nx\n');
      return undefined;
    },
  ],
  [
    'a folder with HEAD and `commondir`',
    'git show',
    (it) => {
      for (const name of ['objects', 'refs', 'config'])
        cpSync(join(it.folder, '.git', name), join(it.folder, 'sub/evil', name), { recursive: true });
      it.write('sub/evil/info/attributes', '* diff=x');
      appendFileSync(join(it.folder, 'sub/evil/config'), `[diff "x"]\n\ttextconv = "touch ${it.marker}; cat"\n`);
      it.write('sub/commondir', 'evil\n');
      it.write('sub/HEAD', 'ref: refs/heads/main\n');
      return join(it.folder, 'sub');
    },
  ],
];

test('a workspace below the top, which a checkout makes a repository of its own', () => {
  const it = new Repository();
  it.git('checkout', '-q', '-b', 'evil');
  cpSync(join(it.folder, '.git'), join(it.folder, 'sub'), { recursive: true });
  for (const name of ['refs', 'objects']) it.write(`sub/${name}/.keep`, '');
  it.write('sub/info/attributes', '* diff=x');
  appendFileSync(join(it.folder, 'sub/config'), `[core]\n\tbare = true\n[diff "x"]\n\ttextconv = "touch ${it.marker}; cat"\n`);
  it.git('add', '-f', 'sub');
  it.git('commit', '-qm', 'sub');
  it.git('checkout', '-q', 'main');
  mkdirSync(join(it.folder, 'sub'), { recursive: true });
  for (const command of ['git checkout evil && git show', 'for i in 1 2; do git checkout evil; done'])
    expect(decide(join(it.folder, 'sub'), command)).toBe('ask');
  expect(decide(join(it.folder, 'sub'), 'git checkout evil')).toBe('allow');
  expect(it.starts('git checkout evil && git show', join(it.folder, 'sub'))).toBe(true);
  expect(decide(join(it.folder, 'sub'), 'git show')).toBe('ask');
});

function nest(it: Repository, isLinked: boolean, version = '2'): undefined {
  const inner = new Repository(join(it.folder, 's'));
  if (isLinked) it.git('add', 's');
  if (isLinked) it.git('update-index', '--index-version', version);
  appendFileSync(join(inner.folder, '.git/config'), `\n[core]\n\tfsmonitor = "touch ${it.marker}; false"\n`);
}

describe('repositories that make git start a program', () => {
  test.each(cases)('%s: %s needs approval outside a sandbox', (_, command, prepare) => {
    const it = new Repository();
    const folder = prepare(it) ?? it.folder;
    expect(decide(folder, command)).toBe('ask');
    expect(it.starts(command, folder)).toBe(true);
  });

  test.each(['[gc]\n\trecentObjectsHook = ./evil', '[unknown]\n\tkey = x', '[core] what is this', '[core]\n\tnewKey = x\u00a0'])(
    'a setting that is not known to be harmless: %j',
    (text) => {
      const it = new Repository();
      appendFileSync(join(it.folder, '.git/config'), `${text}\n`);
      expect(decide(it.folder, 'git status')).toBe('ask');
    },
  );
});

describe('usual repositories', () => {
  const url = 'https://example.com/x.git';

  test('a clone with a remote, a branch, a user and hooks that are examples', () => {
    const it = new Repository();
    for (const [key, value] of Object.entries({ 'user.name': 'José', 'core.autocrlf': 'input', 'pull.rebase': 'true' }))
      it.git('config', key, value);
    it.git('remote', 'add', 'origin', url);
    it.git('remote', 'add', 'ssh', 'git@example.com:x/y.git');
    it.git('config', 'branch.main.remote', 'origin');
    it.git('config', 'branch.main.merge', 'refs/heads/main');
    for (const command of [
      'status',
      'log -p',
      'fetch',
      'push origin main',
      'add -A',
      'commit -m x',
      'switch x',
      'pull',
      'rebase --continue',
    ])
      expect([command, decide(it.folder, `git ${command}`)]).toEqual([command, 'allow']);
    mkdirSync(join(it.folder, 'sub'));
    expect(decide(join(it.folder, 'sub'), 'git add . && git commit -m x')).toBe('allow');
  });

  test('a linked worktree, a submodule, and a filter in the configuration of the user', () => {
    const it = new Repository();
    writeFileSync(join(it.home, '.gitconfig'), '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n');
    it.git('worktree', 'add', '-q', '../tree');
    expect(decide(join(it.home, 'tree'), 'git status')).toBe('allow');
    const other = new Repository(makeWorkspace().workspace);
    it.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.folder, 'sub');
    it.git('config', 'submodule.sub.url', url);
    it.git('-C', 'sub', 'config', 'remote.origin.url', url);
    for (const command of ['git status', 'git fetch', 'git add -A'])
      expect([command, decide(it.folder, command)]).toEqual([command, 'allow']);
    it.git('-C', 'sub', 'config', 'core.fsmonitor', './evil');
    for (const command of ['git status', 'git fetch', 'git add -A'])
      expect([command, decide(it.folder, command)]).toEqual([command, 'ask']);
  });

  test('a folder without a repository, and one that another repository contains through a link', () => {
    const { workspace, outside } = makeWorkspace();
    expect(decide(workspace, 'git status')).toBe('allow');
    const it = new Repository(outside);
    symlinkSync(join(it.folder, '.git'), join(workspace, '.git'));
    expect(decide(workspace, 'git status')).toBe('allow');
  });
});
