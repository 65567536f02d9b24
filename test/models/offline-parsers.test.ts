import { expect, test } from 'vitest';
import {
  fileLanguage,
  findTodo,
  introduceReadme,
  introduceSource,
  isCodeLanguage,
  isSurveyed,
  isTestCase,
  linePattern,
} from '../../src/models/offline/files.ts';
import { toCode, toPlainLine, toProse } from '../../src/models/offline/format.ts';
import { createTask, divideWorkspace, parseTask } from '../../src/models/offline/next-step.ts';
import { parseListing, parseMatches, parsePaths, parseRead } from '../../src/models/offline/tools.ts';
import { cpuMs } from '../support/cpu-time.ts';

const lines = (...list: string[]): string => list.join('\n');
const ok = (text: string) => ({ ok: true, text });

test.each([
  { text: '[. is empty]', folders: [], files: [], others: 0, complete: true },
  { text: lines('b/', 'a.ts (12 bytes)'), folders: ['b'], files: [{ name: 'a.ts', bytes: 12 }], others: 0, complete: true },
  {
    text: lines('a (1) (3 bytes)', 'x (a link to /etc)', 'p (a named pipe)'),
    files: [{ name: 'a (1)', bytes: 3 }],
    others: 2,
    complete: true,
  },
  { text: lines('\ufffd (gone, or its name is not UTF-8)', 'c/'), folders: ['c'], files: [], others: 1, complete: true },
  { text: lines('a/', '[the first 1000 of 4000 entries]'), folders: ['a'], files: [], others: 0, complete: false },
  { text: lines('a/', 'tru', '[… 5 of 9 bytes left out …]', 'ncated/', 'z/'), folders: ['a', 'z'], files: [], others: 0, complete: false },
])('list: $text', ({ text, folders = [], ...rest }) => {
  expect(parseListing(ok(text))).toEqual({ folders, ...rest });
});

test.each([
  { text: '[no file matches **/*]', paths: [], complete: true },
  { text: lines('a.ts', 'b/c.ts', ''), paths: ['a.ts', 'b/c.ts'], complete: true },
  { text: lines('app/[id]/page.tsx', '[slug].ts', '[the first 2 of 9 files]'), paths: ['app/[id]/page.tsx', '[slug].ts'], complete: false },
  { text: '[stopped after a second: some of the files (0 of 0 found so far); ask for less]', paths: [], complete: false },
])('glob: $text', ({ text, paths, complete }) => {
  expect(parsePaths(ok(text))).toEqual({ paths, complete });
});

const known = new Set(['a.ts', 'b:3:c.ts', '[x]/d.ts']);

test.each([
  { text: '[no line matches]', found: [], complete: true },
  { text: 'a.ts:7:x:8:y', found: [['a.ts', 7, 'x:8:y']], complete: true },
  { text: 'b:3:c.ts:12:text', found: [['b:3:c.ts', 12, 'text']], complete: true },
  { text: '[x]/d.ts:1:array[0 ]', found: [['[x]/d.ts', 1, 'array[0 ]']], complete: true },
  { text: lines('zzz.ts:1:unknown file', 'a.ts:no number', 'a.ts', ':1:', '../a.ts:1:x'), found: [], complete: true },
  {
    text: lines('a.ts:1:x', '[the first 1 of 5 matching lines; search for something rarer or in less]'),
    found: [['a.ts', 1, 'x']],
    complete: false,
  },
  { text: `a.ts:1:${'x'.repeat(9000)}`, found: [['a.ts', 1, 'x'.repeat(500)]], complete: true },
])('grep: $text', ({ text, found, complete }) => {
  const parsed = parseMatches(ok(text), known);
  expect(parsed.matches.map((match) => [match.path, match.line, match.text])).toEqual(found);
  expect(parsed.complete).toBe(complete);
});

test.each([
  { text: '[empty file]', read: [], complete: true },
  { text: lines('     1\ta', '     2\t', '     3\tc\td'), read: ['a', '', 'c\td'], complete: true },
  { text: lines('     1\ta', '[lines 1 to 1 of a file of 9 bytes; go on with offset 2]'), read: ['a'], complete: false },
  { text: lines('     1\ta', '     7\tnot the next'), read: ['a'], complete: false },
])('read: $text', ({ text, read, complete }) => {
  expect(parseRead(ok(text))).toEqual({ lines: read, complete });
});

test('a call that failed or was not made gives nothing, and not all of it', () => {
  for (const result of [null, { ok: false, text: 'a.ts' }]) {
    expect(parseListing(result)).toMatchObject({ folders: [], files: [], complete: false });
    expect(parsePaths(result)).toEqual({ paths: [], complete: false });
    expect(parseMatches(result, known)).toEqual({ matches: [], complete: false });
    expect(parseRead(result)).toEqual({ lines: [], complete: false });
  }
});

test.each([
  ['a.ts', 'TypeScript'],
  ['A.PY', 'Python'],
  ['x/Makefile', 'Make'],
  ['Dockerfile', 'Docker'],
  ['a.md', 'Markdown'],
  ['.gitignore', null],
  ['x.', null],
  ['photo.png', null],
  ['toString', null],
  ...['package-lock.json', 'x/yarn.lock', 'jquery.min.js', 'a_pb2.py', 'go.sum', 'a.js.map'].map((path): [string, null] => [path, null]),
])('the language of %s is %s', (path, language) => {
  expect(fileLanguage(path)).toBe(language);
});

test('documents and data are no code', () => {
  expect(['TypeScript', 'Make', 'Markdown', 'JSON', null].map(isCodeLanguage)).toEqual([true, true, false, false, false]);
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

test.each([
  { line: '// TODO: x', path: 'a.ts', todo: 'TODO: x' },
  { line: 'x = 1 # FIXME later', path: 'a.py', todo: 'FIXME later' },
  { line: "const x = 'TODO'", path: 'a.ts', todo: null },
  { line: "write('// TODO more');", path: 'a.ts', todo: null },
  { line: "write('x'); // TODO don't", path: 'a.ts', todo: "TODO don't" },
  { line: 'TODO in prose', path: 'a.md', todo: 'TODO in prose' },
  { line: '// TODOS and mastodon', path: 'a.ts', todo: null },
])('a TODO: $line', ({ line, path, todo }) => {
  expect(findTodo(line, path)).toBe(todo);
  if (todo !== null) expect(line).toMatch(new RegExp(linePattern));
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
  expect(isTestCase(line, path)).toBe(declares);
  if (declares) expect(line).toMatch(new RegExp(linePattern));
});

test.each([
  { name: 'badges and a paragraph', text: '# A\n\n[![b](c)](d)\n\nOne\ntwo.\n\nThree.', expected: ['A', 'One two.'] },
  { name: 'underlined', text: 'Title\n=====\n\nText *here*.', expected: ['Title', 'Text here.'] },
  { name: 'front matter, comment, code', text: '---\na: b\n---\n<!-- x\ny -->\n```\ncode\n```\n# T\nword', expected: ['T', 'word'] },
  { name: 'a tag over lines', text: '<img\n  src="x"\n>\n# T\n\nRead [this](u) & <b>that</b>.', expected: ['T', 'Read this & that.'] },
  { name: 'only a heading', text: '# T', expected: ['T', ''] },
  { name: 'nothing', text: '', expected: ['', ''] },
])('README: $name', ({ text, expected }) => {
  const { title, text: paragraph } = introduceReadme(text.split('\n'));
  expect([title, paragraph]).toEqual(expected);
});

test.each([
  { text: '// One line.\nimport x', said: 'One line' },
  { text: '/**\n * First sentence. Second one.\n */', said: 'First sentence' },
  { text: '/* Copyright X */\n\ncode', said: '' },
  { text: '#!/usr/bin/env python\n"""Says it.\n\nMore."""', said: 'Says it' },
  { text: '#!/bin/sh\n# Does things\nset -e', said: 'Does things' },
  { text: "import x from 'y';\n// too late", said: '' },
  { text: '', said: '' },
])('the beginning of a source file: $text', ({ text, said }) => {
  expect(introduceSource(text.split('\n'))).toBe(said);
});

test('a source file made to be slow is read at once', () => {
  const ms = cpuMs(() => {
    for (const text of [`/*${'* '.repeat(5000)}`, '// x\n'.repeat(5000), `#${' '.repeat(20_000)}`, `"""${'a. '.repeat(5000)}`]) {
      introduceSource(text.split('\n'));
      introduceReadme(text.split('\n'));
    }
  });
  expect(ms).toBeLessThan(1000);
});

test('text from files is made harmless', () => {
  expect(toPlainLine('a\u202eb\u0000\n\tc', 10)).toBe('ab c');
  expect(toPlainLine('😀😀😀', 4)).toBe('😀…');
  expect(toCode('a`b\n```c')).toBe("`a'b '''c`");
  expect(toProse('# [x](javascript:1) <script>alert(1)</script> | `y`', 99)).toBe('x alert(1) y');
});

test('a scope goes into a task and comes out again', () => {
  const scope = ['a "b" `c`', 'ü', '[x]{y}*', '.'];
  expect(parseTask(createTask(scope))).toEqual(scope);
  expect(parseTask(`# Task\n\n${createTask(scope)}\n\n# Context\n\nmore`)).toEqual(scope);
});

test.each(['survey', 'survey-scope: {', 'survey-scope: ["a/b"]', 'survey-scope: [".."]', 'survey-scope: []'])('no scope: %s', (task) => {
  expect(parseTask(task)).toBeNull();
});

test.each([
  { folders: 0, files: [], tasks: 0, left: 0 },
  { folders: 0, files: ['a'], tasks: 1, left: 0 },
  { folders: 15, files: ['a'], tasks: 16, left: 0 },
  { folders: 16, files: ['a'], tasks: 9, left: 0 },
  { folders: 130, files: ['a'], tasks: 16, left: 0 },
  { folders: 500, files: ['a'], tasks: 16, left: 140 },
])('$folders folders make $tasks tasks', ({ folders, files, tasks, left }) => {
  const names = Array.from({ length: folders }, (_, index) => `f${String(index).padStart(3, '0')}`);
  const scopes = divideWorkspace({ folders: names, files });
  expect(scopes).toHaveLength(tasks);
  expect(scopes.flat().filter((name) => name !== '.')).toEqual(names.slice(0, folders - left));
  for (const scope of scopes) expect(parseTask(createTask(scope))).toEqual(scope);
});
