import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { grep } from '../../src/tools/grep.ts';
import { call, makeWorkspace } from './support.ts';

function makeTree(files: Record<string, string | Buffer>): { workspace: string; outside: string } {
  const made = makeWorkspace();
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(join(made.workspace, dirname(file)), { recursive: true });
    writeFileSync(join(made.workspace, file), content);
  }
  return made;
}

const tree = {
  'a.ts': 'one\nneedle here\nthree\nneedle again',
  'src/b.ts': 'needle\r\n',
  'src/b.md': 'a Needle and a (haystack)',
  '.env': 'needle=1',
  '.git/config': 'needle',
  'node_modules/p/i.js': 'needle',
  'ignored/x.ts': 'needle',
  '.gitignore': 'ignored\n',
  '.retinue/db': 'needle',
  'sub/.RETINUE/db': 'needle',
  'binary.dat': Buffer.from('needle\0needle\n'),
  'late.dat': Buffer.concat([Buffer.from('needle\n'), Buffer.alloc(70_000, 'x'), Buffer.from('\0\nneedle\n')]),
  'z\nname.ts': 'needle',
};

test.each([
  {
    input: { pattern: 'needle' },
    found: [
      '.env:1:needle=1',
      'a.ts:2:needle here',
      'a.ts:4:needle again',
      'late.dat:1:needle',
      'src/b.ts:1:needle',
      'z\\u000aname.ts:1:needle',
    ],
  },
  { input: { pattern: 'needle', path: 'src' }, found: ['src/b.ts:1:needle'] },
  { input: { pattern: '(?i)needle', path: 'src' }, found: ['src/b.md:1:a Needle and a (haystack)', 'src/b.ts:1:needle'] },
  { input: { pattern: 'needle', path: 'a.ts' }, found: ['a.ts:2:needle here', 'a.ts:4:needle again'] },
  { input: { pattern: 'needle$', glob: '*.ts' }, found: ['z\\u000aname.ts:1:needle'] },
  { input: { pattern: '(?:needle|three)', glob: '!*.ts', path: '.' }, found: ['.env:1:needle=1', 'late.dat:1:needle'] },
  { input: { pattern: '\\(hay' }, found: ['src/b.md:1:a Needle and a (haystack)'] },
  { input: { pattern: 'needle', path: 'node_modules' }, found: ['node_modules/p/i.js:1:needle'] },
  { input: { pattern: 'needle', path: 'ignored' }, found: ['ignored/x.ts:1:needle'] },
  { input: { pattern: 'needle', path: '.git' }, found: ['.git/config:1:needle'] },
  { input: { pattern: '--files' }, found: ['[no line matches]'] },
  { input: { pattern: 'needle', glob: '.retinue/**' }, found: ['[no line matches]'] },
])('$input', async ({ input, found }) => {
  const { workspace } = makeTree(tree);
  const result = await call(grep, workspace, input);
  expect(result.isError).toBeUndefined();
  expect(result.output.split('\n')).toEqual(found);
});

test.each([
  { input: { pattern: '(needle' }, reason: 'unclosed group' },
  { input: { pattern: '(?=needle)' }, reason: 'look-around' },
  { input: { pattern: 'a\nb' }, reason: 'not allowed' },
  { input: { pattern: 'x', glob: '{a' }, reason: 'unclosed alternate group' },
  { input: { pattern: 'x', path: '..' }, reason: 'outside the workspace' },
  { input: { pattern: 'x', path: 'link' }, reason: 'leads out' },
  { input: { pattern: 'x', path: '.retinue' }, reason: 'closed to tools' },
  { input: { pattern: 'x', path: '.retinue/db' }, reason: 'closed to tools' },
  { input: { pattern: 'x', path: 'none' }, reason: 'does not exist' },
  { input: { pattern: 'x', path: 'pipe' }, reason: 'a named pipe' },
  { input: { pattern: 'x', path: 'binary.dat' }, reason: 'a binary file' },
  { input: { pattern: 'x', path: 'huge' }, reason: 'at most' },
  { input: { pattern: 'a\0' }, reason: 'NUL' },
])('refuses $input', async ({ input, reason }) => {
  const { workspace, outside } = makeTree(tree);
  symlinkSync(outside, join(workspace, 'link'));
  execFileSync('mkfifo', [join(workspace, 'pipe')]);
  writeFileSync(join(workspace, 'huge'), 'x\n');
  truncateSync(join(workspace, 'huge'), 10_000_000_000);
  const result = await call(grep, workspace, input);
  expect(result).toMatchObject({ isError: true, output: expect.stringContaining(reason) });
  expect(result.output).not.toContain('Consider');
});

test('links are not followed, and the target of .retinue is closed', async () => {
  const { workspace, outside } = makeTree({ 'state/db': 'needle', 'a/state/db': 'needle' });
  writeFileSync(join(outside, 'secret'), 'needle');
  symlinkSync(outside, join(workspace, 'out'));
  symlinkSync(join(outside, 'secret'), join(workspace, 'link'));
  symlinkSync('state', join(workspace, '.retinue'));
  expect((await call(grep, workspace, { pattern: 'needle' })).output).toBe('a/state/db:1:needle');
});

test("neither the user's configuration nor the environment of the process counts", async () => {
  const { workspace, outside } = makeTree({ a: 'needle' });
  writeFileSync(join(outside, 'config'), '--count\n');
  const before = process.env.RIPGREP_CONFIG_PATH;
  process.env.RIPGREP_CONFIG_PATH = join(outside, 'config');
  try {
    expect((await call(grep, workspace, { pattern: 'needle' })).output).toBe('a:1:needle');
  } finally {
    if (before === undefined) delete process.env.RIPGREP_CONFIG_PATH;
    else process.env.RIPGREP_CONFIG_PATH = before;
  }
});

describe('much', () => {
  test('long lines are cut', async () => {
    const { workspace } = makeTree({ a: `needle ${'x'.repeat(1_000_000)}\n` });
    const { output } = await call(grep, workspace, { pattern: 'needle' });
    expect(output).toMatch(/^a:1:needle x{300,400} \[\.\.\. omitted end of long line\]$/);
  });

  test('many lines are cut, in order, with a count', async () => {
    const files = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${String(n).padStart(2, '0')}`, 'needle\n'.repeat(200)]));
    const { workspace } = makeTree(files);
    const lines = (await call(grep, workspace, { pattern: 'needle' })).output.split('\n');
    expect(lines.slice(0, 2)).toEqual(['f00:1:needle', 'f00:2:needle']);
    expect(lines).toHaveLength(1001);
    expect(lines[999]).toBe('f04:200:needle');
    expect(lines[1000]).toBe('[the first 1000 of 6000 matching lines; use a more specific pattern, or name a path or glob]');
  });

  test('the result stays under the cap of the tool', async () => {
    const { workspace } = makeTree({ a: `needle ${'€'.repeat(300)}\n`.repeat(900) });
    const { output } = await call(grep, workspace, { pattern: 'needle' });
    expect(Buffer.byteLength(output)).toBeLessThan(grep.maxOutputBytes ?? 0);
    expect(output).toMatch(/\[the first \d+ of 900 matching lines;/);
  });
});

test('stops when it is aborted', async () => {
  const { workspace } = makeTree({ a: 'x' });
  const controller = new AbortController();
  const searching = call(grep, workspace, { pattern: 'x' }, { signal: controller.signal });
  controller.abort(new Error('enough'));
  await expect(searching).rejects.toThrow('enough');
});
