import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { read } from '../../src/tools/read.ts';
import { write } from '../../src/tools/write.ts';
import { startCpuTimer } from '../support/cpu-time.ts';
import { call, makeWorkspace } from './support.ts';

test('creates a file and its directories', async () => {
  const { workspace } = makeWorkspace();
  const result = await call(write, workspace, { path: 'a/b/../c/new.txt', content: 'grüß\ud800' });
  expect(result).toMatchObject({
    output: 'created a/c/new.txt (9 bytes)',
    changes: [{ path: 'a/c/new.txt', before: null, after: { mode: '100644', bytes: 9 } }],
    artifacts: [
      { kind: 'path', value: 'a/c/new.txt', title: 'created', bytes: 9 },
      {
        kind: 'diff',
        title: 'a/c/new.txt',
        value: '--- /dev/null\n+++ b/a/c/new.txt\n@@ -0,0 +1,1 @@\n+grüß\ufffd\n\\ No newline at end of file\n',
        bytes: 87,
      },
    ],
  });
  expect(readFileSync(join(workspace, 'a/c/new.txt'), 'utf8')).toBe('grüß\ufffd');
  expect(readdirSync(join(workspace, 'a/c'))).toEqual(['new.txt']);
});

test('replaces a file as a whole and keeps its mode', async () => {
  const { workspace } = makeWorkspace();
  const file = join(workspace, 'run.sh');
  writeFileSync(file, 'old text');
  chmodSync(file, 0o750);
  const before = statSync(file).ino;
  const result = await call(write, workspace, { path: 'run.sh', content: 'new' });
  expect(result.output).toBe('changed run.sh (8 to 3 bytes)');
  expect(result.artifacts).toMatchObject([
    { kind: 'path', value: 'run.sh', title: 'changed', bytes: 3 },
    { kind: 'diff', title: 'run.sh', value: expect.stringContaining('-old text\n\\ No newline at end of file\n+new\n') },
  ]);
  expect(readFileSync(file, 'utf8')).toBe('new');
  expect(statSync(file).mode & 0o777).toBe(0o750);
  expect(statSync(file).ino).not.toBe(before);
});

test('writes through a link inside the workspace and keeps the link', async () => {
  const { workspace } = makeWorkspace();
  mkdirSync(join(workspace, 'real'));
  writeFileSync(join(workspace, 'real/f'), 'old');
  symlinkSync('real', join(workspace, 'dir'));
  symlinkSync('real/f', join(workspace, 'file'));
  expect((await call(write, workspace, { path: 'dir/g', content: 'g' })).output).toBe('created real/g (1 bytes)');
  expect((await call(write, workspace, { path: 'file', content: 'new' })).output).toBe('changed real/f (3 to 3 bytes)');
  expect(readFileSync(join(workspace, 'file'), 'utf8')).toBe('new');
});

test.each([
  '.git/hooks/pre-commit',
  '.git/config',
  '.GIT/Config',
  '.git',
  'sub/.git/hooks/post-checkout',
  'retinue.config.json',
  'Retinue.Config.JSON',
  '.claude/agents/helper.md',
  '.claude/AGENTS/helper.md',
  '.mcp.json',
  '.reti\u200cnue/x',
  '.gıt/../.git/config',
  '.git/hoo\u212as/x',
  'a/../retinue.config.json',
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.claude/commands/x.md',
  '.husky/pre-commit',
  '.vscode/tasks.json',
  '.envrc',
  'GIT~1/config',
  '.git./config',
  '.git /config',
  'RETINU~1/x',
  '.retinue./x',
  '.retinue\u200b/x',
  ...['lefthook.toml', 'lefthook-local.yml', '.lefthook/pre-commit/x.sh', '.lefthook.json', '.config/lefthook.yml', '.overcommit.yml'],
  ...[
    '.hg/hgrc',
    '.jj/repo/config.toml',
    '.kiro/x',
    '.kilocode/x',
    '.amp/x',
    '.qwen/x',
    '.factory/x',
    'crush.json',
    'mise.toml',
    '.mise.local.toml',
  ],
])('%s is protected though it does not exist', async (path) => {
  const { workspace } = makeWorkspace();
  const result = await call(write, workspace, { path, content: 'x' });
  expect(result).toMatchObject({ isError: true, output: expect.stringMatching(/protected|closed/) });
  expect(readdirSync(workspace)).toEqual([]);
});

test.each(['.retinue/retinue.db', '.Retinue/x', 'deep/.retinue/x', '.retinue'])('%s is closed', async (path) => {
  const { workspace } = makeWorkspace();
  const result = await call(write, workspace, { path, content: 'x' });
  expect(result).toEqual({ output: '.retinue is closed to tools', isError: true });
  expect(readdirSync(workspace)).toEqual([]);
});

test.each(['AGENTS.md', '.gitignore', '.github/workflows/ci.yml', '.claude/notes.md', 'sub/retinue.config.json', 'retinue/x'])(
  '%s is not protected',
  async (path) => {
    const { workspace } = makeWorkspace();
    expect((await call(write, workspace, { path, content: 'x' })).isError).toBeUndefined();
  },
);

test('a protected path that is a link protects its target', async () => {
  const { workspace } = makeWorkspace();
  mkdirSync(join(workspace, 'tools/agents'), { recursive: true });
  mkdirSync(join(workspace, 'gitdata'));
  symlinkSync('tools', join(workspace, '.claude'));
  symlinkSync('gitdata', join(workspace, '.git'));
  symlinkSync('.git', join(workspace, 'g'));
  for (const path of ['tools/agents/x.md', 'gitdata/hooks/x', 'g/config']) {
    expect(await call(write, workspace, { path, content: 'x' })).toMatchObject({
      isError: true,
      output: expect.stringContaining('protected'),
    });
  }
  expect((await call(write, workspace, { path: 'tools/x.md', content: 'x' })).isError).toBeUndefined();
});

test('a file with several hard links is not written', async () => {
  const { workspace, outside } = makeWorkspace();
  writeFileSync(join(outside, 'f'), 'theirs');
  linkSync(join(outside, 'f'), join(workspace, 'f'));
  const result = await call(write, workspace, { path: 'f', content: 'mine' });
  expect(result.output).toBe('f has several hard links, so it is not changed');
  expect(readFileSync(join(outside, 'f'), 'utf8')).toBe('theirs');
});

test('only plain files are replaced', async () => {
  const { workspace } = makeWorkspace();
  mkdirSync(join(workspace, 'd'));
  writeFileSync(join(workspace, 'f'), 'x');
  symlinkSync('nowhere', join(workspace, 'dangling'));
  expect((await call(write, workspace, { path: 'd', content: '' })).output).toBe('d is a directory, not a file');
  expect((await call(write, workspace, { path: '.', content: '' })).output).toBe('. is a directory');
  expect((await call(write, workspace, { path: 'f/below', content: '' })).output).toContain('not a directory');
  expect((await call(write, workspace, { path: 'dangling', content: '' })).output).toBe('dangling is a link, not a file');
  expect(existsSync(join(workspace, 'nowhere'))).toBe(false);
});

test('an abort leaves the old text and no other file', async () => {
  const { workspace } = makeWorkspace();
  writeFileSync(join(workspace, 'f'), 'old');
  const controller = new AbortController();
  const writing = call(write, workspace, { path: 'f', content: 'x'.repeat(50_000_000) }, { signal: controller.signal });
  setImmediate(() => controller.abort(new Error('enough')));
  await expect(writing).rejects.toThrow();
  expect(readFileSync(join(workspace, 'f'), 'utf8')).toBe('old');
  expect(readdirSync(workspace)).toEqual(['f']);
});

test('readers never see a half-written file', async () => {
  const { workspace } = makeWorkspace();
  const texts = ['a', 'b'].map((char) => char.repeat(200_000));
  writeFileSync(join(workspace, 'f'), texts[0] ?? '');
  for (let round = 0; round < 20; round++) {
    const writing = call(write, workspace, { path: 'f', content: texts[round % 2] ?? '' });
    expect(texts).toContain(readFileSync(join(workspace, 'f'), 'utf8'));
    await writing;
  }
});

test('a file that changed since the run read it is not overwritten; its own changes are', async () => {
  const { workspace } = makeWorkspace();
  const memo = new Map<string, string>();
  const file = join(workspace, 'f');
  writeFileSync(file, 'one');
  await call(read, workspace, { path: 'f' }, { memo });
  writeFileSync(file, 'two');
  const refused = await call(write, workspace, { path: 'f', content: 'mine' }, { memo });
  expect(refused).toEqual({ output: 'f changed since you read it; read it again', isError: true });
  expect(readFileSync(file, 'utf8')).toBe('two');
  await call(read, workspace, { path: 'f' }, { memo });
  for (const content of ['mine', 'mine again']) {
    expect((await call(write, workspace, { path: 'f', content }, { memo })).isError).toBeUndefined();
  }
  // Touched, but the same text.
  writeFileSync(file, 'mine again');
  expect((await call(write, workspace, { path: 'f', content: 'last' }, { memo })).isError).toBeUndefined();
  rmSync(file);
  expect((await call(write, workspace, { path: 'f', content: 'new' }, { memo })).output).toBe('created f (3 bytes)');
});

test('a large file is compared by inode, size and time', async () => {
  const { workspace } = makeWorkspace();
  const memo = new Map<string, string>();
  const file = join(workspace, 'f');
  writeFileSync(file, 'line\n'.repeat(2_000_000));
  await call(read, workspace, { path: 'f', limit: 1 }, { memo });
  appendFileSync(file, 'more');
  expect((await call(write, workspace, { path: 'f', content: 'x' }, { memo })).output).toContain('changed since');
  await call(read, workspace, { path: 'f', limit: 1 }, { memo });
  const result = await call(write, workspace, { path: 'f', content: 'x' }, { memo });
  expect(result.artifacts?.map(({ kind }) => kind)).toEqual(['path']);
});

test('of several concurrent writes to the same version one wins', async () => {
  const { workspace } = makeWorkspace();
  const file = join(workspace, 'f');
  for (let round = 0; round < 20; round++) {
    writeFileSync(file, `start ${round}`);
    const memos = Array.from({ length: 8 }, () => new Map<string, string>());
    for (const memo of memos) await call(read, workspace, { path: 'f' }, { memo });
    const results = await Promise.all(memos.map((memo, n) => call(write, workspace, { path: 'f', content: `by ${n}` }, { memo })));
    expect(results.filter(({ isError }) => !isError)).toHaveLength(1);
    expect(readdirSync(workspace)).toEqual(['f']);
  }
});

describe('diffs', () => {
  const diffOf = async (before: string | Buffer, content: string) => {
    const { workspace } = makeWorkspace();
    writeFileSync(join(workspace, 'f'), before);
    const computedMs = startCpuTimer();
    const { artifacts } = await call(write, workspace, { path: 'f', content });
    expect(computedMs()).toBeLessThan(1000);
    return artifacts?.find(({ kind }) => kind === 'diff');
  };

  test('are accepted by patch', async () => {
    const { workspace } = makeWorkspace();
    const before = Array.from({ length: 40 }, (_, n) => `line ${n}\n`).join('');
    const after = before.replace('line 3\n', 'line three\n').replace('line 30\n', '');
    const diff = await diffOf(before, after);
    writeFileSync(join(workspace, 'f'), before);
    execFileSync('git', ['apply', '-'], { cwd: workspace, input: diff?.value ?? '' });
    expect(readFileSync(join(workspace, 'f'), 'utf8')).toBe(after);
  });

  test('are cut at 20,000 characters, with a notice', async () => {
    const diff = await diffOf('', 'a line of text\n'.repeat(5000));
    expect(diff?.value.length).toBeLessThan(20_100);
    expect(diff?.value).toMatch(/\+a line of text\n\[diff cut: \d+ characters of \d+ left out\]\n$/);
    expect(diff?.bytes).toBeGreaterThan(75_000);
  });

  test('of completely different files are fast and still correct', async () => {
    const lines = (word: string) => Array.from({ length: 20_000 }, (_, n) => `${word} ${(n * 7919) % 20_011}\n`).join('');
    const diff = await diffOf(`same\n${lines('a')}end`, `same\n${lines('b')}end`);
    expect(diff?.value).toMatch(/^--- a\/f\n\+\+\+ b\/f\n@@ -1,20002 \+1,20002 @@\n same\n-a 0\n/);
  });

  test('are not created for binary files or without a change', async () => {
    expect(await diffOf(Buffer.from('a\0b'), 'text')).toBeUndefined();
    expect(await diffOf('same', 'same')).toBeUndefined();
  });
});
