import { extensionOf, folderOf, isCode, isFixture, isInTestFolder, isTestName, nameOf } from './languages.ts';

/** What is looked for in lines besides imports. The patterns are for `grep`: what any engine of regular expressions understands. */

export const todoPattern = '\\b(TODO|FIXME|HACK|XXX)\\b';

export const testPattern = [
  '^\\s*(test|it)(\\.\\w+)*\\(',
  '^\\s*(async\\s+)?def\\s+test_',
  '^func\\s+Test[A-Z]',
  '^\\s*#\\[(\\w+::)?test\\]',
  '^\\s*@(Test|ParameterizedTest)\\b',
  '^\\s*TEST(_F|_P)?\\(',
].join('|');

export const startPattern = [
  '^#!',
  '^if\\s+__name__\\s*==',
  '^func\\s+main\\(',
  '^\\s*(pub\\s+)?(async\\s+)?fn\\s+main\\(',
  'public\\s+static\\s+void\\s+main\\(',
  '^fun\\s+main\\(',
  '^int\\s+main\\(',
].join('|');

const todo = new RegExp(todoPattern);
const test = new RegExp(testPattern);
const start = new RegExp(startPattern);

// What begins a comment in one language or another.
const comment = /\/\/|\/\*|^\s*\*|#|--|<!--|^\s*;|%|"""|'''/;

/** The mark and what follows it. In code it counts only in a comment: a text that holds the word is none. */
export function todoIn(line: string, path: string): { kind: string; text: string } | null {
  const found = todo.exec(line);
  if (found === null || (isCode(path) && !isInComment(line.slice(0, found.index)))) return null;
  return { kind: found[0], text: line.slice(found.index) };
}

/** A quote that is still open where the comment begins makes it part of a text. */
function isInComment(before: string): boolean {
  const start = comment.exec(before);
  return start !== null && ["'", '"', '`'].every((quote) => before.slice(0, start.index).split(quote).length % 2 === 1);
}

/** How the lines of a language declare a test: `it(` is none in Python. */
export function isTestLine(line: string, path: string): boolean {
  return test.test(line) && isCode(path);
}

export function startIn(line: string): string | null {
  if (!start.test(line)) return null;
  return line.startsWith('#!') ? 'a script (#!)' : 'has a main function';
}

/** A file of a test folder counts only if it declares tests: helpers and data lie there too. */
export function isTestFile(path: string, declares: boolean): boolean {
  if (!isCode(path) || isFixture(path)) return false;
  return isTestName(path) || (declares && isInTestFolder(path));
}

const inert = new Set(['html', 'htm', 'css', 'scss', 'sass', 'less', 'sql', 'proto', 'graphql', 'gql', 'h', 'hpp', 'hh']);
const mainNames = /^(main|__main__|manage|cli|server|app|program)$/i;

/** Why a file is taken for an entry point by its name; null where it is not. */
export function entryByName(path: string, folder: string | null): string | null {
  if (!canStart(path)) return null;
  const stem = nameOf(path).replace(/\.\w+$/, '');
  const depth = folderOf(path).split('/').length;
  const isTop = folderOf(path) === (folder ?? '') || folderOf(path) === `${folder}/src`;
  if (mainNames.test(stem) && (depth <= 3 || /^(main|__main__)$/i.test(stem))) return `named ${stem}`;
  if (isTop && /^(index|lib|mod|__init__)$/.test(stem)) return `named ${stem}`;
  return /(^|\/)bin\/[^/]+$/.test(path) ? 'in a bin folder' : null;
}

/** Tests, fixtures and what only others read start nothing. */
export function canStart(path: string): boolean {
  return isCode(path) && !inert.has(extensionOf(path)) && !isTestName(path) && !isInTestFolder(path) && !isFixture(path);
}
