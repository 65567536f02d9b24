// Files and standard input that a user gives to a run: nothing is cut in silence, and the agent can read all of it.
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Fact, FactOf } from '../../src/contract/fact.ts';
import { type Cli, createCli } from './support.ts';

const numbered = (lines: number) => Array.from({ length: lines }, (_, i) => `line ${i + 1} ${'x'.repeat(40)}\n`).join('');
const long = numbered(2000);

function firstMessage(facts: Fact[]): string {
  return facts.find((fact): fact is FactOf<'run.started'> => fact.type === 'run.started')?.data.first ?? '';
}

/** The files of the newest run's brief. */
async function briefFiles(cli: Cli): Promise<string[]> {
  return (await cli.facts()).find((fact): fact is FactOf<'run.created'> => fact.type === 'run.created')?.data.brief.files ?? [];
}

describe('a long file of the workspace', () => {
  it('is in the first message up to a point that the user and the model are told; the rest can be read', async () => {
    using cli = createCli({
      runs: [
        {
          steps: [
            { calls: [{ tool: 'read', args: { path: 'big.log', offset: 1999 } }] },
            { expect: { prompt: 'line 2000' }, text: 'seen' },
          ],
        },
      ],
      files: { 'big.log': long },
    });
    const { code, stderr } = await cli.run(['run', 'task', '--file', 'big.log']);
    expect(code).toBe(0);
    expect(stderr).toContain(
      `retinue: big.log has ${long.length} bytes: the first message contains its first 10000 characters, and the agent can read the rest, up to 2000 characters of each line\n`,
    );
    const message = firstMessage(await cli.facts());
    const next = Number(/read big\.log from line (\d+) on/.exec(message)?.[1]);
    expect(message).toContain(`line ${next - 1} `);
    expect(message).not.toContain(`line ${next + 1} `);
  });

  it('that is short needs no word', async () => {
    using cli = createCli({ files: { 'small.txt': 'small' } });
    expect((await cli.run(['run', 'task', '--file', 'small.txt'])).stderr).not.toContain('small.txt');
    expect(existsSync(join(cli.folder, '.retinue-files'))).toBe(false);
  });
});

describe('a file from outside the workspace', () => {
  it('is copied to where the agent can read all of it, and deleted with the run', async () => {
    using cli = createCli({ runs: [{ times: 'any', steps: [{ text: 'done' }] }] });
    const outside = join(dirname(cli.folder), 'out side.log');
    writeFileSync(outside, long);
    const { code, stderr } = await cli.run(['run', 'task', '--file', outside]);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/out side\.log has \d+ bytes: the first message contains .* \(\.retinue-files\/\w+\/out_side\.log\)\n/),
    ]);
    const [path = ''] = await briefFiles(cli);
    expect(readFileSync(join(cli.folder, path), 'utf8')).toBe(long);
    expect(firstMessage(await cli.facts())).toContain(`read ${path} from line`);
    expect(readFileSync(join(cli.folder, '.retinue-files/.gitignore'), 'utf8')).toBe('*\n');
    // Another run of the same file has its own copy.
    await cli.run(['run', 'task', '--file', outside]);
    expect((await cli.run(['rm', 'last', '--yes'])).code).toBe(0);
    expect(readdirSync(join(cli.folder, '.retinue-files')).filter((name) => name !== '.gitignore')).toEqual([path.split('/')[1]]);
  });

  it('counts as one also through a link in the workspace', async () => {
    using cli = createCli();
    writeFileSync(join(dirname(cli.folder), 'note.txt'), 'a note');
    symlinkSync('../note.txt', join(cli.folder, 'link.txt'));
    expect(await cli.run(['run', 'task', '--file', 'link.txt'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('link.txt was copied to'),
    });
    expect(firstMessage(await cli.facts())).toContain('a note');
  });

  it('leaves no copy if the run is refused, and none where a link of the repository leads', async () => {
    using cli = createCli();
    const outside = join(dirname(cli.folder), 'note.txt');
    writeFileSync(outside, 'a note');
    expect((await cli.run(['run', 'task', '--file', outside, '--agent', 'nobody'])).code).toBe(2);
    expect((await cli.run(['run', 'task', '--file', outside, '--tools', 'nothing'])).code).toBe(2);
    expect(readdirSync(join(cli.folder, '.retinue-files'))).toEqual(['.gitignore']);
    using other = createCli();
    symlinkSync('..', join(other.folder, '.retinue-files'));
    expect(await other.run(['run', 'task', '--file', outside])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('.retinue-files is not a directory'),
    });
  });
});

describe('a file that cannot be given to an agent is refused before anything starts', () => {
  const table: [name: string, path: string, message: RegExp][] = [
    ['binary', 'image.png', /--file: image\.png is a binary file/],
    ['binary, from outside', '../image.png', /--file: \.\.\/image\.png is a binary file/],
    ['Retinue’s own', '.retinue/x', /--file: \.retinue is closed to tools/],
    ['a folder', 'folder', /folder.* is a (directory|folder)/],
    ['missing', 'big.lgo', /unknown file `big\.lgo`; did you mean `big\.log`\?/],
  ];
  it.each(table)('%s', async (_, path, message) => {
    using cli = createCli({ files: { 'image.png': 'a\0b', '.retinue/x': '', 'folder/x': '', 'big.log': '' } });
    writeFileSync(join(dirname(cli.folder), 'image.png'), 'a\0b');
    expect(await cli.run(['run', 'task', '--file', path])).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
    expect(await cli.facts()).toEqual([]);
  });
});

describe('standard input', () => {
  it('that is longer than a task becomes a file that the agent can read', async () => {
    using cli = createCli();
    const { code, stderr } = await cli.run(['run', 'review', '-'], { readStdin: async () => long });
    expect([code, stderr]).toEqual([0, expect.stringMatching(/standard-input\.txt has \d+ bytes: the first message contains/)]);
    const [path = ''] = await briefFiles(cli);
    expect(readFileSync(join(cli.folder, path), 'utf8')).toBe(long.trimEnd());
    expect((await cli.facts())[0]?.data).toMatchObject({ brief: { task: 'review' } });
  });

  it('that fits is part of the task', async () => {
    using cli = createCli();
    await cli.run(['run', 'review', '-'], { readStdin: async () => 'y'.repeat(60_000) });
    expect((await cli.facts())[0]?.data).toMatchObject({ brief: { task: `review\n\n${'y'.repeat(60_000)}` } });
  });
});

it('a task that is too long gets advice', async () => {
  using cli = createCli();
  const words = 'word '.repeat(20_000);
  const { code, stderr } = await cli.run(['run', words]);
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(
      /the task has \d+ bytes, and at most 65536 are possible; give long material with --file, or on standard input with `-`/,
    ),
  ]);
  expect((await cli.run(['subagent', '--task', words])).stderr).toContain('give long material as a file or as context');
});

it('binary standard input is refused like a binary file', async () => {
  using cli = createCli();
  expect(await cli.run(['run', 'review', '-'], { readStdin: async () => 'a\0b' })).toMatchObject({
    code: 2,
    stderr:
      'retinue: standard input is binary, and only text can be given to an agent; put the file into the workspace and name it in the task\n',
  });
  expect(await cli.facts()).toEqual([]);
});
