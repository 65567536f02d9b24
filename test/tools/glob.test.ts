import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { glob } from '../../src/tools/glob.ts';
import { call, makeWorkspace } from './support.ts';

function makeTree(files: string[]): { workspace: string; outside: string } {
  const made = makeWorkspace();
  for (const file of files) {
    mkdirSync(join(made.workspace, dirname(file)), { recursive: true });
    writeFileSync(join(made.workspace, file), 'text');
  }
  return made;
}

const files = [
  'a.ts',
  'b.js',
  'src/c.ts',
  'src/deep/d.ts',
  'src/deep/e.tsx',
  'test/f.ts',
  '.github/w.yml',
  '.git/config',
  'node_modules/p/i.ts',
  'src/node_modules/p/j.ts',
  'dist/out.ts',
  'logs/x.log',
  '.retinue/db.ts',
  'src/.retinue/db.ts',
  '-dash.ts',
  'we ird[1].ts',
  'new\nline.ts',
];

test.each([
  { pattern: '*.ts', found: ['-dash.ts', 'a.ts', 'new\\u000aline.ts', 'we ird[1].ts'] },
  { pattern: 'src/**/*.ts', found: ['src/c.ts', 'src/deep/d.ts'] },
  { pattern: '**/*.{ts,tsx}', path: 'src', found: ['src/c.ts', 'src/deep/d.ts', 'src/deep/e.tsx'] },
  { pattern: '**/d.*', found: ['src/deep/d.ts'] },
  { pattern: 'src/', found: ['src/c.ts', 'src/deep/d.ts', 'src/deep/e.tsx'] },
  { pattern: './src/./c.ts', found: ['src/c.ts'] },
  { pattern: 'test/../src/*', found: ['src/c.ts'] },
  { pattern: '{src,test}/*.ts', found: ['src/c.ts', 'test/f.ts'] },
  { pattern: '[a-b].?s', found: ['a.ts', 'b.js'] },
  { pattern: 'we ird\\[1\\].ts', found: ['we ird[1].ts'] },
  { pattern: '-dash.ts', found: ['-dash.ts'] },
  { pattern: '.github/**', found: ['.github/w.yml'] },
  { pattern: '**/*.yml', found: ['.github/w.yml'] },
  // Ignored, unless the pattern begins with the directory.
  { pattern: '**/out.ts', found: [] },
  { pattern: 'dist/*', found: ['dist/out.ts'] },
  { pattern: '*', path: 'dist', found: ['dist/out.ts'] },
  { pattern: '**/*.log', found: [] },
  { pattern: '**/i.ts', found: [] },
  { pattern: '**', path: 'src', found: ['src/c.ts', 'src/deep/d.ts', 'src/deep/e.tsx'] },
  { pattern: '[^a-z]*/**', found: ['.github/w.yml'] },
  { pattern: '**/{*.yml,d.*}', found: ['.github/w.yml', 'src/deep/d.ts'] },
  { pattern: '{src/**,test}/*.ts', found: ['src/deep/d.ts', 'test/f.ts'] },
  { pattern: '*e*/**/?.ts', found: ['test/f.ts'] },
  { pattern: 'node_modules/**', found: ['node_modules/p/i.ts'] },
  { pattern: '**/node_modules/**', found: ['node_modules/p/i.ts', 'src/node_modules/p/j.ts'] },
  { pattern: '.git/*', found: ['.git/config'] },
  { pattern: 'none/*.ts', found: [] },
])('$pattern from $path', async ({ pattern, path, found }) => {
  const { workspace } = makeTree(files);
  writeFileSync(join(workspace, '.gitignore'), 'dist\n*.log\n');
  const result = await call(glob, workspace, path === undefined ? { pattern } : { pattern, path });
  expect(result.isError).toBeUndefined();
  if (found.length === 0) expect(result.output).toMatch(/^\[no file matches/);
  else expect(result.output.split('\n').filter((line) => line !== '.gitignore')).toEqual(found);
});

test.each([
  { input: { pattern: '../*' }, reason: 'outside the workspace' },
  { input: { pattern: '/etc/*' }, reason: 'outside the workspace' },
  { input: { pattern: 'link/*' }, reason: 'leads out of the workspace' },
  { input: { pattern: '*', path: 'link' }, reason: 'leads out of the workspace' },
  { input: { pattern: '*', path: 'none' }, reason: 'does not exist' },
  { input: { pattern: '*', path: 'a.ts' }, reason: 'not a directory' },
  { input: { pattern: '.retinue/*' }, reason: 'closed to tools' },
  { input: { pattern: '*', path: 'src/.retinue' }, reason: 'closed to tools' },
  { input: { pattern: '*/../../*' }, reason: 'must not follow a wildcard' },
  { input: { pattern: '{a' }, reason: 'a { is not closed' },
  { input: { pattern: '[a' }, reason: 'a [ is not closed' },
  { input: { pattern: '[z-a]' }, reason: 'is reversed' },
  { input: { pattern: '/' }, reason: 'names no file' },
  { input: { pattern: 'a\0b' }, reason: 'NUL' },
])('refuses $input', async ({ input, reason }) => {
  const { workspace, outside } = makeTree(files);
  symlinkSync(outside, join(workspace, 'link'));
  expect(await call(glob, workspace, input)).toMatchObject({ isError: true, output: expect.stringContaining(reason) });
});

test('links are neither followed nor shown, and .retinue is closed under every name', async () => {
  const { workspace, outside } = makeTree(['a.ts', 'state/secret.ts', '.RETINUE/x.ts', 'sub/.Retinue/y.ts']);
  writeFileSync(join(outside, 'secret.ts'), '');
  symlinkSync(outside, join(workspace, 'out'));
  symlinkSync(join(outside, 'secret.ts'), join(workspace, 'link.ts'));
  symlinkSync('.', join(workspace, 'loop'));
  symlinkSync('state', join(workspace, '.retinue'));
  expect((await call(glob, workspace, { pattern: '**/*.ts' })).output).toBe('a.ts');
});

test('shows at most the first 1000 files by path, with a notice', async () => {
  const { workspace } = makeTree(Array.from({ length: 5010 }, (_, n) => `${n % 7}/f${String(n).padStart(4, '0')}`));
  const lines = (await call(glob, workspace, { pattern: '**' })).output.split('\n');
  expect(lines).toHaveLength(1001);
  expect(lines[0]).toBe('0/f0000');
  expect(lines[999]).toBe('1/f1982');
  expect(lines[1000]).toBe('[the first 1000 of 5010 files]');
});

test('rules match the directory where the search starts', () => {
  const { workspace } = makeTree(['src/a.ts']);
  expect(glob.subjects({ pattern: '**/*.ts' }, { workspace })).toEqual(['.']);
  expect(glob.subjects({ pattern: 'src/*.ts' }, { workspace })).toEqual(['src']);
  expect(glob.subjects({ pattern: 'b/*.ts', path: 'a' }, { workspace })).toEqual(['a/b']);
  expect(glob.subjects({ pattern: '../x/*' }, { workspace })).toEqual(['../x']);
});

test('stops when it is aborted', async () => {
  const { workspace } = makeTree(['a']);
  await expect(call(glob, workspace, { pattern: '*' }, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
});
