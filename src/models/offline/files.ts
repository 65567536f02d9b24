// What the path of a file says about it, and what its lines say.
import { toProse } from './format.ts';

const codeLanguages = parseTable(`
  TypeScript ts tsx mts cts; JavaScript js jsx mjs cjs; Vue vue; Svelte svelte; Python py pyi; Go go; Rust rs; Java java; Kotlin kt kts
  Scala scala; Groovy groovy gradle; C c h; C++ cc cpp cxx hh hpp hxx; C# cs; Ruby rb; PHP php; Swift swift; Objective-C m mm; Dart dart
  Elixir ex exs; Haskell hs; Lua lua; Perl pl pm; R r; Shell sh bash zsh fish; PowerShell ps1; SQL sql; HTML html htm
  CSS css scss sass less; Terraform tf; GraphQL graphql gql; Make makefile; Docker dockerfile`);
const otherLanguages = parseTable(`
  Markdown md mdx markdown; reStructuredText rst; Text txt; JSON json jsonc json5; YAML yml yaml; TOML toml; XML xml
  INI ini cfg conf properties; CSV csv tsv`);

/** `name extension…`, separated by semicolons and line ends, as a map from extension to name. */
function parseTable(table: string): Map<string, string> {
  const rows = table.trim().split(/;\s*|\n\s*/);
  return new Map(rows.map((row) => row.split(' ')).flatMap(([name = '', ...extensions]) => extensions.map((each) => [each, name])));
}

/** Null if the name does not tell, and for files that a program wrote. */
export function fileLanguage(path: string): string | null {
  if (/(^|\/)(package-lock\.json|pnpm-lock\.yaml|go\.sum|[^/]*(\.lock|\.min\.(js|css)|\.map|\.snap|_pb2\.py|\.pb\.go))$/i.test(path))
    return null;
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  // A name without a dot counts as a whole: `Makefile`.
  const extension = name.startsWith('.') ? '' : name.slice(name.lastIndexOf('.') + 1);
  return codeLanguages.get(extension) ?? otherLanguages.get(extension) ?? null;
}

const codeNames = new Set(codeLanguages.values());

export function isCodeLanguage(language: string | null): boolean {
  return language !== null && codeNames.has(language);
}

/** '' for a path without folders. */
export function parentFolder(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
}

/** Sample data of tests: its lines say nothing about this project. */
export function isFixture(path: string): boolean {
  return /(^|\/)(fixtures?|__fixtures__|testdata|snapshots|__snapshots__)\//i.test(path);
}

export function isReadme(path: string): boolean {
  return /(^|\/)readme(\.(md|mdx|markdown|rst|txt|adoc))?$/i.test(path);
}

/** Folders at the top that a survey skips: written by others, or made by a program. */
export function isSkippedAtTop(name: string): boolean {
  return isSkipped(name) || /^(build|target|vendor)$/i.test(name);
}

/** Further down, a folder `build` may well contain sources. */
export function isSkipped(name: string): boolean {
  return name.startsWith('.') || /^(node_modules|bower_components|__pycache__|venv|dist|coverage)$/i.test(name);
}

/** Whether a path below a surveyed folder belongs to the survey. */
export function isSurveyed(path: string): boolean {
  return !path.startsWith('.') && !path.split('/').slice(1).some(isSkipped);
}

// In the part of regular expressions that JavaScript and ripgrep share.
const todoPattern = '\\b(TODO|FIXME|HACK|XXX)\\b';
const testPattern = [
  '^\\s*(test|it)(\\.\\w+)*\\(',
  '^\\s*(async\\s+)?def\\s+test_',
  '^func\\s+Test[A-Z]',
  '^\\s*#\\[(\\w+::)?test\\]',
  '^\\s*@(Test|ParameterizedTest)\\b',
].join('|');

/** Finds every line that `findTodo` and `isTestCase` may accept. */
export const linePattern = `${todoPattern}|${testPattern}`;

const todo = new RegExp(todoPattern);
const test = new RegExp(testPattern);

/** From the mark to the end of the line. In code the mark must be in a comment, not in a string. */
export function findTodo(line: string, path: string): string | null {
  const found = todo.exec(line);
  const isCode = isCodeLanguage(fileLanguage(path));
  return found === null || (isCode && !isInComment(line.slice(0, found.index))) ? null : line.slice(found.index);
}

/** A quote that is open where the comment begins makes it part of a string. */
function isInComment(before: string): boolean {
  const start = /\/\/|\/\*|^\s*\*|#|--|<!--|^\s*;|%|"""|'''/.exec(before);
  return start !== null && ["'", '"', '`'].every((quote) => before.slice(0, start.index).split(quote).length % 2 === 1);
}

export function isTestCase(line: string, path: string): boolean {
  return isCodeLanguage(fileLanguage(path)) && test.test(line);
}

/** The first heading and the first paragraph of a README. */
export function introduceReadme(lines: string[]): { title: string; text: string } {
  const body = lines
    .map((line) => line.slice(0, 2000))
    .join('\n')
    .replace(/^---\n[\s\S]*?\n---(\n|$)/, '') // front matter
    .replace(/^[ \t]*(```|~~~)[\s\S]*?\n[ \t]*\1/gm, '')
    .replace(/<!--[\s\S]*?(-->|$)/g, '')
    .replace(/<[^<>]*>/g, '')
    .replace(/!\[[^\]\n]*\](\([^)\n]*\)|\[[^\]\n]*\])?/g, '')
    .replace(/\[([^\]\n]*)\](\([^)\n]*\)|\[[^\]\n]*\])/g, '$1')
    .replace(/^(.+)\n(={3,}|-{3,})[ \t]*$/gm, '# $1')
    .replace(/^(#{1,6}\s.*)$/gm, '\n$1\n');
  const blocks = body.split(/\n\s*\n/).map((block) => block.trim());
  const isHeading = (block: string): boolean => /^#{1,6}\s/.test(block);
  const paragraph = blocks.find((block) => !isHeading(block) && /\p{L}{2}/u.test(toProse(block, 500)));
  return { title: toProse(blocks.find(isHeading) ?? '', 100), text: toProse(paragraph ?? '', 500) };
}

const boilerplate = /copyright|licen[cs]e|spdx|all rights reserved|eslint|prettier|@ts-|coding[:=]|generated|do not edit|use strict/i;

/** The first sentence of the comment at the beginning of a source file; '' if there is none. */
export function introduceSource(lines: string[]): string {
  const head = lines
    .join('\n')
    .replace(/^#!.*\n/, '')
    .trimStart();
  const [, block, docstring] = /^\/\*+([\s\S]*?)\*\/|^"""([\s\S]*?)"""/.exec(head) ?? [];
  const comment = block ?? docstring ?? /^(?:(?:\/\/|# ).*\n?)+/.exec(head)?.[0] ?? '';
  const [paragraph = ''] = comment
    .replace(/^\s*(\/\/[/!]?|#+|\*)/gm, '')
    .trim()
    .split(/\n\s*\n/);
  const sentence = toProse(paragraph, 400)
    .replace(/(?<=.{12}[.!?:]) (?=[A-Z("']).*/, '')
    .replace(/[.:;,]$/, '');
  return boilerplate.test(sentence) || !/\p{L}{2}/u.test(sentence) ? '' : sentence;
}
