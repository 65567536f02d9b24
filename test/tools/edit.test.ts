import { linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { edit } from '../../src/tools/edit.ts';
import { read } from '../../src/tools/read.ts';
import { write } from '../../src/tools/write.ts';
import { call, makeWorkspace } from './support.ts';

/** A workspace with one file that the run has read. */
async function opened(content: string | Buffer, path = 'f') {
  const { workspace } = makeWorkspace();
  const memo = new Map<string, string>();
  writeFileSync(join(workspace, path), content);
  await call(read, workspace, { path }, { memo });
  return { workspace, memo, bytes: () => readFileSync(join(workspace, path)), text: () => readFileSync(join(workspace, path), 'utf8') };
}

test('replaces a text that occurs once and shows the change', async () => {
  const { workspace, memo, text } = await opened('one\ntwo\nthree\n');
  const result = await call(edit, workspace, { path: 'f', old: 'two', new: '2' }, { memo });
  expect(text()).toBe('one\n2\nthree\n');
  expect(result.output).toBe('changed f (1 replacement)\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three');
  expect(result.artifacts).toMatchObject([
    { kind: 'path', value: 'f', title: 'changed', bytes: 12 },
    { kind: 'diff', title: 'f', value: expect.stringContaining('-two\n+2\n') },
  ]);
});

test('edits follow one another without reading again; write and edit know of each other', async () => {
  const { workspace, memo, text } = await opened('a b');
  await call(edit, workspace, { path: 'f', old: 'a', new: 'x' }, { memo });
  await call(edit, workspace, { path: 'f', old: 'b', new: 'y' }, { memo });
  expect(text()).toBe('x y');
  await call(write, workspace, { path: 'g', content: 'new' }, { memo });
  expect((await call(edit, workspace, { path: 'g', old: 'new', new: 'newer' }, { memo })).isError).toBeUndefined();
});

test.each([
  { name: 'all occurrences', content: 'a-a-a', input: { old: 'a', new: 'aa', all: true }, text: 'aa-aa-aa', output: /3 replacements/ },
  { name: 'to nothing', content: 'abc', input: { old: 'b', new: '' }, text: 'ac', output: /1 replacement/ },
  { name: 'patterns of replace mean nothing', content: 'x', input: { old: 'x', new: "$& $1 $' $$" }, text: "$& $1 $' $$", output: /1 rep/ },
  {
    name: 'twice, without all',
    content: 'a a',
    input: { old: 'a', new: 'b' },
    output: 'f: old occurs 2 times; include more of the surrounding text, or set all',
  },
  {
    name: 'not at all',
    content: 'a',
    input: { old: 'b', new: 'c' },
    output: 'f: old does not occur in the file; it must match exactly, including indentation',
  },
  { name: 'to the same', content: 'a', input: { old: 'a', new: 'a' }, output: 'old and new are the same text; nothing was changed' },
  {
    name: 'lines of a file from Windows',
    content: 'a\r\nb\r\nc',
    input: { old: 'a\nb', new: 'x\ny' },
    text: 'x\r\ny\r\nc',
    output: /1 rep/,
  },
])('$name', async ({ content, input, text: after = content, output }) => {
  const { workspace, memo, text } = await opened(content);
  const result = await call(edit, workspace, { path: 'f', ...input }, { memo });
  expect(text()).toBe(after);
  if (typeof output === 'string') expect(result).toEqual({ output, isError: true });
  else expect(result.output).toMatch(output);
});

test('invalid UTF-8 elsewhere in the file is preserved', async () => {
  const { workspace, memo, bytes } = await opened(Buffer.from([0xef, 0xbb, 0xbf, 0x61, 0xff, 0xfe, 0x20, 0xc3, 0xa9]));
  await call(edit, workspace, { path: 'f', old: 'é', new: '€' }, { memo });
  expect([...bytes()]).toEqual([0xef, 0xbb, 0xbf, 0x61, 0xff, 0xfe, 0x20, 0xe2, 0x82, 0xac]);
});

test('requires that the file was read in this run', async () => {
  const { workspace } = await opened('a');
  const result = await call(edit, workspace, { path: 'f', old: 'a', new: 'b' });
  expect(result).toEqual({ output: 'f was not read in this run; read it first', isError: true });
});

test('refuses if the file has changed since', async () => {
  const { workspace, memo, text } = await opened('a b');
  writeFileSync(join(workspace, 'f'), 'a c');
  const result = await call(edit, workspace, { path: 'f', old: 'a', new: 'x' }, { memo });
  expect(result).toEqual({ output: 'f changed since you read it; read it again', isError: true });
  expect(text()).toBe('a c');
  await call(read, workspace, { path: 'f', offset: 1, limit: 1 }, { memo });
  expect((await call(edit, workspace, { path: 'f', old: 'a', new: 'x' }, { memo })).isError).toBeUndefined();
});

test('a file read through a link may be edited by its real path', async () => {
  const { workspace, memo, text } = await opened('a');
  symlinkSync('f', join(workspace, 'link'));
  expect((await call(edit, workspace, { path: 'link', old: 'a', new: 'b' }, { memo })).output).toContain('changed f');
  expect(text()).toBe('b');
});

test('of two siblings that edit the same text at once, one has to read again', async () => {
  for (let round = 0; round < 20; round++) {
    const { workspace, memo, text } = await opened('a b');
    const other = new Map(memo);
    const results = await Promise.all([
      call(edit, workspace, { path: 'f', old: 'a', new: 'x' }, { memo }),
      call(edit, workspace, { path: 'f', old: 'b', new: 'y' }, { memo: other }),
    ]);
    expect(results.filter(({ isError }) => isError)).toHaveLength(1);
    expect(['x b', 'a y']).toContain(text());
  }
});

test('refuses files that cannot be edited', async () => {
  const { workspace, memo } = await opened('x');
  mkdirSync(join(workspace, '.git'));
  mkdirSync(join(workspace, 'd'));
  writeFileSync(join(workspace, '.git/config'), 'x');
  writeFileSync(join(workspace, 'binary'), 'x\0');
  writeFileSync(join(workspace, 'twin'), 'x');
  linkSync(join(workspace, 'twin'), join(workspace, 'other'));
  writeFileSync(join(workspace, 'large'), Buffer.alloc(8 * 1024 * 1024 + 1, 'x'));
  const reasons = {
    none: 'does not exist',
    '.git/config': 'protected',
    binary: 'binary',
    twin: 'several hard links',
    large: 'at most',
    d: 'directory',
    '../f': 'outside',
  };
  for (const [path, reason] of Object.entries(reasons)) {
    expect(await call(edit, workspace, { path, old: 'x', new: 'y' }, { memo })).toMatchObject({
      isError: true,
      output: expect.stringContaining(reason),
    });
  }
});

test('a replacement that would grow without bounds is refused', async () => {
  const { workspace, memo, text } = await opened('x'.repeat(100_000));
  const result = await call(edit, workspace, { path: 'f', old: 'x', new: 'y'.repeat(100_000), all: true }, { memo });
  expect(result).toMatchObject({ isError: true, output: expect.stringContaining('would have 10000000000 bytes') });
  expect(text()).toHaveLength(100_000);
});

test.each([
  { path: 'f', old: '', new: 'x' },
  { path: 'f', old: 'x' },
  { path: 'f', old: 'x', new: 'y', more: 1 },
])('refuses %j', (input) => {
  expect(edit.input.safeParse(input).success).toBe(false);
});
