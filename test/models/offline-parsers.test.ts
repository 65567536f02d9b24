import { expect, test } from 'vitest';
import { headCommentOf, readmeOf } from '../../src/models/offline/about.ts';
import { isGenerated, isSurveyed, isTestName, languageOf } from '../../src/models/offline/languages.ts';
import { entryByName, isTestLine, startIn, todoIn } from '../../src/models/offline/marks.ts';
import { parseList, parseMatches, parsePaths, parseRead } from '../../src/models/offline/outputs.ts';
import { divide, labelOf, scopeOf, taskOf } from '../../src/models/offline/scope.ts';
import { code, plain, prose } from '../../src/models/offline/text.ts';

const lines = (...list: string[]): string => list.join('\n');

test.each([
  { text: '[. is empty]', folders: [], files: [], others: 0, cut: false },
  { text: lines('b/', 'a.ts (12 bytes)'), folders: ['b'], files: [{ name: 'a.ts', bytes: 12 }], others: 0, cut: false },
  { text: lines('a (1) (3 bytes)', 'x (a link to /etc)', 'p (a named pipe)'), files: [{ name: 'a (1)', bytes: 3 }], others: 2, cut: false },
  { text: lines('\ufffd (gone, or its name is not UTF-8)', 'c/'), folders: ['c'], files: [], others: 1, cut: false },
  { text: lines('a/', '[the first 1000 of 4000 entries]'), folders: ['a'], files: [], others: 0, cut: true },
  { text: lines('a/', 'tru', '[… 5 of 9 bytes left out …]', 'ncated/', 'z/'), folders: ['a', 'z'], files: [], others: 0, cut: true },
])('list: $text', ({ text, folders = [], ...rest }) => {
  expect(parseList(text)).toEqual({ folders, ...rest });
});

test.each([
  { text: '[no file matches **/*]', paths: [], cut: false },
  { text: lines('a.ts', './b/c.ts', 'd/', '/etc/passwd', '../x', 'e/../../f', ''), paths: ['a.ts', 'b/c.ts'], cut: false },
  { text: lines('app/[id]/page.tsx', '[slug].ts', '[the first 2 of 9 files]'), paths: ['app/[id]/page.tsx', '[slug].ts'], cut: true },
  { text: '[stopped after a second: some of the files (0 of 0 found so far); ask for less]', paths: [], cut: true },
])('glob: $text', ({ text, paths, cut }) => {
  expect(parsePaths(text)).toEqual({ paths, cut });
});

const known = new Set(['a.ts', 'b:3:c.ts', '[x]/d.ts']);

test.each([
  { text: '[no line matches]', found: [], cut: false },
  { text: 'a.ts:7:x:8:y', found: [['a.ts', 7, 'x:8:y']], cut: false },
  { text: 'b:3:c.ts:12:text', found: [['b:3:c.ts', 12, 'text']], cut: false },
  { text: '[x]/d.ts:1:array[0 ]', found: [['[x]/d.ts', 1, 'array[0 ]']], cut: false },
  { text: lines('zzz.ts:1:unknown file', 'a.ts:no number', 'a.ts', ':1:'), found: [], cut: false },
  {
    text: lines('a.ts:1:x', '[the first 1 of 5 matching lines; search for something rarer or in less]'),
    found: [['a.ts', 1, 'x']],
    cut: true,
  },
  { text: `a.ts:1:${'x'.repeat(9000)}`, found: [['a.ts', 1, 'x'.repeat(500)]], cut: false },
])('grep: $text', ({ text, found, cut }) => {
  const parsed = parseMatches(text, known);
  expect(parsed.matches.map((match) => [match.path, match.line, match.text])).toEqual(found);
  expect(parsed.cut).toBe(cut);
});

test.each([
  { text: '[empty file]', read: [], complete: true },
  { text: lines('     1\ta', '     2\t', '     3\tc\td'), read: ['a', '', 'c\td'], complete: true },
  { text: lines('     1\ta', '[lines 1 to 1 of a file of 9 bytes; go on with offset 2]'), read: ['a'], complete: false },
  { text: lines('     1\ta', '     7\tnot the next'), read: ['a'], complete: false },
])('read: $text', ({ text, read, complete }) => {
  expect(parseRead(text)).toEqual({ lines: read, complete });
});

test.each([
  ['a.ts', 'TypeScript'],
  ['A.PY', 'Python'],
  ['x/Makefile', 'Make'],
  ['Dockerfile', 'Docker'],
  ['.gitignore', null],
  ['x.', null],
  ['photo.png', null],
  ['toString', null],
])('%s is %s', (path, language) => {
  expect(languageOf(path)).toBe(language);
});

test.each([
  ['src/a.ts', true],
  ['src/build/a.ts', true],
  ['src/node_modules/x/a.ts', false],
  ['src/.env', false],
  ['.env', false],
  ['src/__pycache__/a.pyc', false],
])('%s belongs to a survey: %s', (path, surveyed) => {
  expect(isSurveyed(path)).toBe(surveyed);
});

test.each(['package-lock.json', 'x/yarn.lock', 'jquery.min.js', 'a_pb2.py', 'go.sum', 'a.js.map'])('%s is generated', (path) => {
  expect(isGenerated(path)).toBe(true);
});

test.each(['a.test.ts', 'b.spec.jsx', 'test_x.py', 'x_test.go', 'FooTest.java', 'x_spec.rb'])('%s is a test by its name', (path) => {
  expect(isTestName(`deep/${path}`)).toBe(true);
});

test.each([
  { line: '// TODO: x', path: 'a.ts', kind: 'TODO' },
  { line: 'x = 1 # FIXME later', path: 'a.py', kind: 'FIXME' },
  { line: "const x = 'TODO'", path: 'a.ts', kind: null },
  { line: "write('// TODO more');", path: 'a.ts', kind: null },
  { line: "write('x'); // TODO don't", path: 'a.ts', kind: 'TODO' },
  { line: 'TODO in prose', path: 'a.md', kind: 'TODO' },
  { line: '// TODOS and mastodon', path: 'a.ts', kind: null },
])('a mark: $line', ({ line, path, kind }) => {
  expect(todoIn(line, path)?.kind ?? null).toBe(kind);
});

test.each([
  ["  it('x', () => {", 'a.ts', true],
  ['test.each([', 'a.js', true],
  ["test.skip('x')", 'a.js', true],
  ['async def test_x():', 'a.py', true],
  ['func TestX(t *testing.T) {', 'a.go', true],
  ['    #[tokio::test]', 'a.rs', true],
  ['  @Test', 'A.java', true],
  ['it(is)', 'a.md', false],
  ['submit(x)', 'a.ts', false],
])('%s in %s declares a test: %s', (line, path, declares) => {
  expect(isTestLine(line, path)).toBe(declares);
});

test.each([
  ['#!/bin/sh', 'a script (#!)'],
  ["if __name__ == '__main__':", 'has a main function'],
  ['fn main() {', 'has a main function'],
  ['  public static void main(String[] args)', 'has a main function'],
  ['domain()', null],
])('%s: %s', (line, why) => {
  expect(startIn(line)).toBe(why);
});

test.each([
  ['src/index.ts', 'src', 'named index'],
  ['src/deep/er/index.ts', 'src', null],
  ['cmd/x/main.go', 'cmd', 'named main'],
  ['pkg/__main__.py', 'pkg', 'named __main__'],
  ['bin/tool', 'bin', null],
  ['bin/tool.rb', 'bin', 'in a bin folder'],
  ['test/main.ts', 'test', null],
  ['web/main.css', 'web', null],
])('%s of %s: %s', (path, folder, why) => {
  expect(entryByName(path, folder)).toBe(why);
});

test.each([
  { name: 'badges and a paragraph', text: '# A\n\n[![b](c)](d)\n\nOne\ntwo.\n\nThree.', expected: ['A', 'One two.'] },
  { name: 'underlined', text: 'Title\n=====\n\nText *here*.', expected: ['Title', 'Text here.'] },
  { name: 'front matter, comment, code', text: '---\na: b\n---\n<!-- x\ny -->\n```\ncode\n```\n# T\nword', expected: ['T', 'word'] },
  { name: 'a tag over lines', text: '<img\n  src="x"\n>\n# T\n\nRead [this](u) & <b>that</b>.', expected: ['T', 'Read this & that.'] },
  { name: 'only a heading', text: '# T', expected: ['T', ''] },
  { name: 'nothing', text: '', expected: ['', ''] },
])('README: $name', ({ text, expected }) => {
  const { title, text: paragraph } = readmeOf(text.split('\n'));
  expect([title, paragraph]).toEqual(expected);
});

test.each([
  { path: 'a.ts', text: '// One line.\nimport x', said: 'One line' },
  { path: 'a.ts', text: '/**\n * First sentence. Second one.\n */', said: 'First sentence' },
  { path: 'a.ts', text: '/* Copyright X */\n\n// Real words here.\ncode', said: 'Real words here' },
  { path: 'a.py', text: '#!/usr/bin/env python\n"""Says it.\n\nMore."""', said: 'Says it' },
  { path: 'a.sh', text: '#!/bin/sh\n# Does things\nset -e', said: 'Does things' },
  { path: 'a.ts', text: "import x from 'y';\n// too late", said: '' },
  { path: 'a.ts', text: '', said: '' },
])('head of $path: $text', ({ path, text, said }) => {
  expect(headCommentOf(path, text.split('\n'))).toBe(said);
});

test('text from elsewhere is made harmless', () => {
  expect(plain('a\u202eb\u0000\n\tc', 10)).toBe('ab c');
  expect(plain('😀😀😀', 4)).toBe('😀…');
  expect(code('a`b\n```c')).toBe("`a'b '''c`");
  expect(prose('# [x](javascript:1) <script>alert(1)</script> | `y`', 99)).toBe('x alert(1) y');
});

test('a scope goes into a task and comes out again', () => {
  const scope = { folders: ['a "b" `c`', 'ü', '[x]{y}*'], files: true };
  expect(scopeOf(taskOf(scope))).toEqual(scope);
  expect(scopeOf(`# Task\n\n${taskOf(scope)}\n\n# Context\n\nmore`)).toEqual(scope);
  expect(labelOf(scope)).toBe('a "b" `c` and 2 more');
});

test.each(['survey', 'survey-scope: {', 'survey-scope: {"folders":["a/b"],"files":true}', 'survey-scope: {"folders":[".."],"files":true}'])(
  'no scope: %s',
  (task) => {
    expect(scopeOf(task)).toBeNull();
  },
);

test.each([
  { folders: 0, files: false, tasks: 0, left: 0 },
  { folders: 0, files: true, tasks: 1, left: 0 },
  { folders: 15, files: true, tasks: 16, left: 0 },
  { folders: 16, files: true, tasks: 16, left: 0 },
  { folders: 40, files: true, tasks: 16, left: 0 },
  { folders: 130, files: true, tasks: 16, left: 0 },
  { folders: 500, files: true, tasks: 16, left: 370 },
])('$folders folders make $tasks tasks', ({ folders, files, tasks, left }) => {
  const all = Array.from({ length: folders }, (_, index) => ({ name: `f${String(index).padStart(3, '0')}`, entries: index }));
  const divided = divide(all, files);
  expect(divided.scopes).toHaveLength(tasks);
  expect(divided.left).toHaveLength(left);
  const named = [...divided.scopes.flatMap((scope) => scope.folders), ...divided.left];
  expect(named.toSorted()).toEqual(all.map(({ name }) => name));
  const alone = divided.scopes.filter((scope) => scope.folders.length === 1).map((scope) => scope.folders[0]);
  if (folders > 20) expect(alone).toContain(`f${String(folders - 1).padStart(3, '0')}`);
});
