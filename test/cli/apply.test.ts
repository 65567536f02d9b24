// `retinue apply`, `undo` and `discard`: the whole way from a run with its own copy to the files of the workspace.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Cli, createCli } from './support.ts';

const write = (path: string, content: string) => ({ tool: 'write', args: { path, content } });
const read = (path: string) => ({ tool: 'read', args: { path } });
const task = (label: string) => ({ task: label, label, agent: 'writer' });
const agent = '---\nname: writer\ndescription: writes\nisolation: worktree\ntools: Read, Write\n---\nYou write.\n';
const lines = (...changed: [number, string][]) =>
  Array.from({ length: 20 }, (_, n) => `${changed.find(([at]) => at === n)?.[1] ?? `line ${n}`}\n`).join('');

function setUp(runs: object[], files: Record<string, string> = {}): Cli & { git(...args: string[]): string; text(path: string): string } {
  const cli = createCli({
    runs,
    files: { '.gitignore': '.retinue/\n', '.retinue/agents/writer.md': agent, ...files },
    env: { PATH: process.env.PATH ?? '' },
  });
  const identity = ['-c', 'user.name=x', '-c', 'user.email=x@y'];
  const git = (...args: string[]) => execFileSync('git', [...identity, ...args], { cwd: cli.folder, encoding: 'utf8' }).trim();
  git('init', '-q');
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
  return Object.assign(cli, { git, text: (path: string) => readFileSync(join(cli.folder, path), 'utf8') });
}

/** Three writers in parallel: two that fit together, and one that does not. */
const fanOut = [
  {
    when: { label: 'one' },
    steps: [
      { calls: [read('shared.txt')] },
      { calls: [write('shared.txt', lines([2, 'ONE'])), write('one.txt', '1\n')] },
      { text: 'one done' },
    ],
  },
  {
    when: { label: 'two' },
    steps: [{ calls: [read('shared.txt')] }, { calls: [write('shared.txt', lines([15, 'TWO']))] }, { text: 'two done' }],
  },
  {
    when: { label: 'three' },
    steps: [
      { calls: [read('shared.txt')] },
      { calls: [write('shared.txt', lines([2, 'THREE'])), write('three.txt', '3\n')] },
      { text: 'three done' },
    ],
  },
  { steps: [{ calls: [{ tool: 'delegate', args: { tasks: [task('one'), task('two'), task('three')] } }] }, { text: 'done' }] },
];

async function children(cli: Cli): Promise<Record<string, string>> {
  const rows = await cli.json<{ runId: string; label: string }[]>('ps', '--all');
  return Object.fromEntries(rows.map(({ runId, label }) => [label, runId]));
}

it('merges several children in order; a conflict stops only that one', async () => {
  using cli = setUp(fanOut, { 'shared.txt': lines() });
  expect(await cli.run(['run', 'go'])).toMatchObject({ code: 0 });
  expect(cli.text('shared.txt')).toBe(lines());
  const ids = await children(cli);
  const [one, two, three] = [ids.one, ids.two, ids.three] as [string, string, string];
  const wanted = { applied: [one, two], conflicts: [{ runId: three, paths: ['shared.txt'] }] };
  expect(JSON.parse((await cli.run(['apply', one, two, three, '--check', '--json'])).stdout)).toMatchObject(wanted);
  expect(cli.text('shared.txt')).toBe(lines());
  // The root stands for its children.
  const applied = await cli.run(['apply', 'last', '--json']);
  expect(applied.code).toBe(1);
  expect(JSON.parse(applied.stdout)).toMatchObject({ ...wanted, files: ['one.txt', 'shared.txt'], left: [] });
  expect(cli.text('shared.txt')).toBe(lines([2, 'ONE'], [15, 'TWO']));
  expect(existsSync(join(cli.folder, 'three.txt'))).toBe(false);
  // Index and HEAD are untouched.
  expect(cli.git('status', '--porcelain')).toBe('M shared.txt\n?? one.txt');
  expect(cli.git('log', '--format=%s')).toBe('first');
  expect(await cli.run(['apply', one])).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing to change') });
  const refused = await cli.run(['apply', three]);
  expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('shared.txt was changed in the same place') });
  // Taking back the whole tree restores the files.
  expect(await cli.run(['undo', ids.null ?? one, '--check'])).toMatchObject({ code: 0 });
  expect(await cli.run(['undo', one, two])).toMatchObject({ code: 0 });
  expect(cli.text('shared.txt')).toBe(lines());
  expect(cli.git('status', '--porcelain')).toBe('');
  expect(await cli.run(['undo', one])).toMatchObject({ code: 0, stdout: 'there is nothing to take back\n' });
});

it('shows escape sequences in the names of files', async () => {
  const name = 'n\u001b]0;x\u0007';
  const steps = [{ calls: [write(name, 'x\n')] }, { text: 'done' }];
  using cli = setUp(
    [{ when: { label: 'one' }, steps }, { steps: [{ calls: [{ tool: 'delegate', args: { tasks: [task('one')] } }] }, { text: 'done' }] }],
    {
      'a.txt': 'a\n',
    },
  );
  await cli.run(['run', 'go']);
  for (const command of [
    ['apply', 'last'],
    ['undo', 'last'],
  ])
    expect([command, (await cli.run(command)).stdout]).toEqual([command, expect.stringContaining('n⟦U+001B⟧]0;x⟦U+0007⟧')]);
});

it('leaves nothing behind, and shows each change', async () => {
  using cli = setUp(fanOut, { 'shared.txt': lines() });
  await cli.run(['run', 'go']);
  const ids = await children(cli);
  expect((await cli.run(['diff', ids.one ?? '', '--stat'])).stdout).toBe('one.txt     +1 -0\nshared.txt  +1 -1\n2 files changed, +2 -1\n');
  expect((await cli.run(['diff', 'last', '--stat'])).stdout).toContain('shared.txt');
  expect(readdirSync(join(cli.folder, '../home/.local/state/retinue/checkouts'))).toEqual([]);
  expect(cli.git('status', '--porcelain')).toBe('');
});

it('merges with what the user changed meanwhile, and overwrites nothing', async () => {
  using cli = setUp(fanOut, { 'shared.txt': lines() });
  await cli.run(['run', 'go']);
  const ids = await children(cli);
  cli.write('shared.txt', lines([10, 'MINE']));
  expect(await cli.run(['apply', ids.one ?? ''])).toMatchObject({ code: 0 });
  expect(cli.text('shared.txt')).toBe(lines([2, 'ONE'], [10, 'MINE']));
  cli.write('one.txt', 'mine\n');
  expect(await cli.run(['undo', ids.one ?? ''])).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('left alone, because it has changed since: one.txt'),
  });
  expect([cli.text('shared.txt'), cli.text('one.txt')]).toEqual([lines([10, 'MINE']), 'mine\n']);
  cli.write('three.txt', 'in the way\n');
  const refused = await cli.run(['apply', ids.three ?? '']);
  expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('three.txt exists already') });
  expect([cli.text('shared.txt'), cli.text('three.txt')]).toEqual([lines([10, 'MINE']), 'in the way\n']);
});

it('does not follow a rename: that is a conflict', async () => {
  using cli = setUp(fanOut, { 'shared.txt': lines() });
  await cli.run(['run', 'go']);
  const { one = '' } = await children(cli);
  cli.git('mv', 'shared.txt', 'moved.txt');
  expect(await cli.run(['apply', one])).toMatchObject({ code: 1, stdout: expect.stringContaining('shared.txt was deleted') });
  expect([cli.text('moved.txt'), existsSync(join(cli.folder, 'one.txt'))]).toEqual([lines(), false]);
});

it('takes back only the named run of several that were applied together', async () => {
  using cli = setUp(fanOut, { 'shared.txt': lines() });
  await cli.run(['run', 'go']);
  const { one = '', two = '' } = await children(cli);
  expect(await cli.run(['apply', one, two])).toMatchObject({ code: 0 });
  // The second run changed the shared file on top of the first.
  const first = await cli.run(['undo', one, '--json']);
  expect([first.code, JSON.parse(first.stdout)]).toEqual([1, { undone: ['one.txt'], left: ['shared.txt'] }]);
  expect(cli.text('shared.txt')).toBe(lines([2, 'ONE'], [15, 'TWO']));
  const second = await cli.run(['undo', two, '--json']);
  expect([second.code, JSON.parse(second.stdout)]).toEqual([0, { undone: ['shared.txt'], left: [] }]);
  expect(cli.text('shared.txt')).toBe(lines([2, 'ONE']));
  expect(await cli.run(['undo', one])).toMatchObject({ code: 0 });
  expect(cli.git('status', '--porcelain')).toBe('');
});

it('never takes back what the user changed between two steps', async () => {
  using cli = setUp(fanOut, { 'shared.txt': lines() });
  await cli.run(['run', 'go']);
  const { one = '', two = '' } = await children(cli);
  await cli.run(['apply', one]);
  cli.write('shared.txt', lines([2, 'ONE'], [9, 'MINE']));
  await cli.run(['apply', two]);
  const undone = await cli.run(['undo', one, two]);
  expect(undone).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('taken back in part, because it was changed in between: shared.txt'),
  });
  expect(cli.text('shared.txt')).toBe(lines([2, 'ONE'], [9, 'MINE']));
  const again = await cli.run(['undo', one, two, '--json']);
  expect([again.code, JSON.parse(again.stdout)]).toEqual([1, { undone: [], left: ['shared.txt'] }]);
  expect(cli.text('shared.txt')).toBe(lines([2, 'ONE'], [9, 'MINE']));
});

it('says why there is nothing to apply', async () => {
  using cli = setUp([{ when: { task: 'plain' }, steps: [{ text: 'done' }] }, ...fanOut], { 'shared.txt': lines() });
  await cli.run(['run', 'plain']);
  expect(await cli.run(['apply', 'last'])).toMatchObject({ code: 2, stderr: expect.stringContaining('had no files of its own') });
  expect(await cli.run(['discard', 'last'])).toMatchObject({ code: 1, stderr: expect.stringContaining('there is nothing to discard') });
  expect(await cli.run(['apply', 'ffff'])).toMatchObject({ code: 1 });
  await cli.run(['run', 'go']);
  const { one = '' } = await children(cli);
  expect(await cli.run(['discard', one])).toMatchObject({ code: 0 });
  expect(await cli.run(['apply', one])).toMatchObject({ code: 2, stderr: expect.stringContaining('were discarded') });
});

it('works for a root with --worktree, in a folder without a repository too', async () => {
  const runs = [{ steps: [{ calls: [write('new.txt', 'new\n')] }, { text: 'done' }] }];
  using cli = createCli({ runs, files: { 'a.txt': 'a\n' }, env: { PATH: process.env.PATH ?? '' } });
  expect(await cli.run(['run', 'go', '--worktree'])).toMatchObject({ code: 0 });
  expect(existsSync(join(cli.folder, 'new.txt'))).toBe(false);
  expect(await cli.run(['apply', 'last'])).toMatchObject({ code: 0 });
  expect(readFileSync(join(cli.folder, 'new.txt'), 'utf8')).toBe('new\n');
});

it('takes back what file tools wrote, where nothing has changed it since', async () => {
  const edit = (path: string, old: string, now: string) => ({ tool: 'edit', args: { path, old, new: now } });
  const steps = [
    { calls: [read('a.txt'), read('b.txt'), read('run.sh')] },
    { calls: [edit('a.txt', 'one', 'two'), write('b.txt', 'B\n'), write('dir/new.txt', 'new\n'), edit('run.sh', 'x', 'y')] },
    { calls: [edit('a.txt', 'two', 'three')] },
    { text: 'done' },
  ];
  using cli = setUp([{ steps }], { 'a.txt': 'one\r\n', 'b.txt': 'b\n', 'run.sh': 'x\n' });
  chmodSync(join(cli.folder, 'run.sh'), 0o755);
  expect(await cli.run(['run', 'go'])).toMatchObject({ code: 0 });
  cli.write('b.txt', 'mine\n');
  const undone = await cli.run(['undo', 'last', '--json']);
  expect(undone.code).toBe(1);
  expect(JSON.parse(undone.stdout)).toEqual({ undone: ['a.txt', 'dir/new.txt', 'run.sh'], left: ['b.txt'] });
  expect([cli.text('a.txt'), cli.text('b.txt'), cli.text('run.sh')]).toEqual(['one\r\n', 'mine\n', 'x\n']);
  expect([existsSync(join(cli.folder, 'dir')), statSync(join(cli.folder, 'run.sh')).mode & 0o777]).toEqual([false, 0o755]);
});

it('keeps what the user changed between two edits of a run', async () => {
  const edit = (old: string, now: string) => ({ tool: 'edit', args: { path: 'a.txt', old, new: now } });
  const meddle = { tool: 'bash', args: { command: 'printf "one\\ntwo\\nmine\\n" > a.txt' } };
  const steps = [
    { calls: [read('a.txt')] },
    { calls: [edit('1', 'one')] },
    { calls: [meddle] },
    { calls: [read('a.txt')] },
    { calls: [edit('two', 'TWO')] },
    { text: 'done' },
  ];
  using cli = setUp([{ steps }], { 'a.txt': '1\ntwo\n' });
  expect(await cli.run(['run', 'go', '--allow', 'bash', '--sandbox', 'off'])).toMatchObject({ code: 0 });
  expect(cli.text('a.txt')).toBe('one\nTWO\nmine\n');
  const undone = await cli.run(['undo', 'last', '--json']);
  expect([undone.code, JSON.parse(undone.stdout)]).toEqual([1, { undone: ['a.txt'], left: ['a.txt'] }]);
  expect(cli.text('a.txt')).toBe('one\ntwo\nmine\n');
});

it('keeps secrets in stored contents, and removes them from what is shown', async () => {
  const secret = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789';
  const runs = [
    {
      steps: [
        { calls: [write('config.txt', 'key=SECRET\n')] },
        { calls: [{ tool: 'bash', args: { command: `printf 'key=%s\\n' ${'$'}(cat key.txt) > config.txt` } }] },
        { text: 'done' },
      ],
    },
  ];
  vi.stubEnv('OPENAI_API_KEY', secret);
  onTestFinished(() => void vi.unstubAllEnvs());
  using cli = createCli({ runs, files: { 'key.txt': secret }, env: { PATH: process.env.PATH ?? '' } });
  expect(await cli.run(['run', 'go', '--worktree', '--allow', 'bash', '--sandbox', 'off'])).toMatchObject({ code: 0 });
  expect((await cli.run(['diff', 'last'], { outTTY: true })).stdout).not.toContain(secret);
  expect(await cli.run(['apply', 'last'])).toMatchObject({ code: 0 });
  expect(readFileSync(join(cli.folder, 'config.txt'), 'utf8')).toBe(`key=${secret}\n`);
  expect(JSON.stringify(await cli.facts())).not.toContain(secret);
});

it('a follow-up begins with what the run before it changed, in a copy of its own', async () => {
  const steps = [{ calls: [write('a.txt', 'one\n')] }, { text: 'done' }];
  const more = [{ calls: [read('a.txt')] }, { calls: [write('b.txt', 'two\n')] }, { text: 'done again' }];
  using cli = setUp([{ steps }], { '.gitignore': '.retinue/\nscript.json\n' });
  expect(await cli.run(['run', 'first', '--worktree'])).toMatchObject({ code: 0 });
  cli.write('script.json', { runs: [{ steps: more }] });
  expect(await cli.run(['message', 'last', 'second'])).toMatchObject({ code: 0 });
  expect(cli.git('status', '--porcelain')).toBe('');
  expect((await cli.run(['diff', 'last', '--stat'])).stdout).toBe('a.txt  +1 -0\nb.txt  +1 -0\n2 files changed, +2 -0\n');
  expect(await cli.run(['apply', 'last'])).toMatchObject({ code: 0 });
  expect([cli.text('a.txt'), cli.text('b.txt')]).toEqual(['one\n', 'two\n']);
});

it('says what is not part of the result, and does not list it as made', async () => {
  const steps = [{ calls: [write('a.txt', 'a\n'), write('debug.log', 'log\n'), write('out/b.txt', 'b\n')] }, { text: 'done' }];
  using cli = setUp([{ steps }], { '.gitignore': '.retinue/\n*.log\nout/\n' });
  const notice = 'ignored files are not part of the result: debug.log, out/';
  const { stderr } = await cli.run(['run', 'go', '--worktree']);
  expect(stderr).toContain(notice);
  const { outcome } = await cli.json<{ outcome: { artifacts: { kind: string; value: string }[]; notices: string[] } }>('show', 'last');
  expect(outcome.notices).toEqual([notice]);
  expect(outcome.artifacts.flatMap(({ kind, value }) => (kind === 'path' ? [value] : []))).toEqual(['a.txt']);
  expect((await cli.run(['show', 'last'])).stdout).toMatch(new RegExp(`Notices\n(.*\n)*${notice}\n`));
});

it('shows binary files and changes of modes as such', async () => {
  const command = 'printf "a\\000b" > data.bin; chmod +x run.sh; echo more >> a.txt';
  const steps = [{ calls: [{ tool: 'bash', args: { command } }] }, { text: 'done' }];
  using cli = setUp([{ steps }], { 'a.txt': 'a\n', 'run.sh': 'true\n' });
  expect(await cli.run(['run', 'go', '--worktree', '--allow', 'bash', '--sandbox', 'off'])).toMatchObject({ code: 0 });
  expect((await cli.run(['diff', 'last', '--stat'])).stdout).toBe(
    'a.txt     +1 -0\ndata.bin  binary\nrun.sh    mode 100644 → 100755\n3 files changed, +1 -0\n',
  );
  const { outcome } = await cli.json<{ outcome: { artifacts: { kind: string; title?: string; value: string }[] } }>('show', 'last');
  expect(outcome.artifacts).toContainEqual(expect.objectContaining({ kind: 'path', title: 'changed', value: 'run.sh' }));
  expect(outcome.artifacts.at(-1)).toMatchObject({ title: 'patch', value: 'a.txt +1 -0\ndata.bin binary\nrun.sh mode 100755' });
});

it('sixteen writers at once in one repository', { timeout: 60_000 }, async () => {
  const names = Array.from({ length: 16 }, (_, n) => `w${n}`);
  const children = names.map((name) => ({
    when: { label: name },
    steps: [{ calls: [write(`${name}.txt`, `${name}\n`)] }, { text: 'done' }],
  }));
  const root = { steps: [{ calls: [{ tool: 'delegate', args: { tasks: names.map(task) } }] }, { text: 'all done' }] };
  using cli = setUp([...children, root], { 'a.txt': 'a\n' });
  expect(await cli.run(['run', 'go'])).toMatchObject({ code: 0 });
  expect(cli.git('status', '--porcelain')).toBe('');
  const applied = await cli.run(['apply', 'last', '--json']);
  expect(JSON.parse(applied.stdout)).toMatchObject({ conflicts: [], files: names.map((name) => `${name}.txt`).sort() });
  expect(names.map((name) => cli.text(`${name}.txt`))).toEqual(names.map((name) => `${name}\n`));
  expect(readdirSync(join(cli.folder, '../home/.local/state/retinue/checkouts'))).toEqual([]);
});

it('erasing a run erases the contents of its changes everywhere', async () => {
  const content = 'a text that is nowhere else\n';
  using cli = setUp([{ steps: [{ calls: [write('a.txt', content)] }, { text: 'done' }] }]);
  await cli.run(['run', 'go', '--worktree']);
  await cli.run(['apply', 'last']);
  const [run] = (await cli.json<{ runId: string; kind: string }[]>('ps', '--all')).filter(({ kind }) => kind === 'agent');
  const files = () => ['', '-wal'].map((suffix) => join(cli.folder, `.retinue/retinue.db${suffix}`)).filter((path) => existsSync(path));
  const isStored = () => files().some((path) => readFileSync(path).includes(content));
  expect(isStored()).toBe(true);
  expect(await cli.run(['rm', run?.runId ?? '', '--yes'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/erased.*\nerased/) });
  expect(isStored()).toBe(false);
  expect(await cli.run(['verify'])).toMatchObject({ code: 0 });
  expect(await cli.run(['apply', run?.runId ?? ''])).toMatchObject({ stderr: expect.stringContaining('erased') });
});
