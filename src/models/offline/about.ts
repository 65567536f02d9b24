import { extensionOf, nameOf } from './languages.ts';
import { prose, sentence } from './text.ts';

/** What a file says of itself at its beginning. */

const maxLines = 60;

/** The first heading and the first paragraph of a README; '' where there is none. */
export function readmeOf(lines: string[]): { title: string; text: string } {
  let title = '';
  const paragraph: string[] = [];
  const body = bodyOf(lines);
  for (const [index, line] of body.entries()) {
    const words = wordsOf(line);
    if (/^#{1,6}\s/.test(line) || (words !== '' && underline.test(body[index + 1] ?? ''))) {
      if (paragraph.length > 0) break;
      if (title === '') title = words;
    } else if (words !== '') paragraph.push(words);
    else if (paragraph.length > 0) break;
  }
  return { title: prose(title, 100), text: prose(paragraph.join(' '), 500) };
}

const underline = /^(={3,}|-{3,})\s*$/;

/** The lines without front matter, comments, blocks of code, pictures and tags: those may go over lines. */
function bodyOf(lines: string[]): string[] {
  return lines
    .slice(0, maxLines)
    .map((line) => line.slice(0, 2000))
    .join('\n')
    .replace(/^---\n[\s\S]*?\n---(\n|$)/, '')
    .replace(/^[ \t]*(```|~~~)[\s\S]*?\n[ \t]*\1/gm, '')
    .replace(/<!--[\s\S]*?(-->|$)/g, '')
    .replace(/<[^<>]*>/g, '')
    .replace(/!\[[^\]\n]*\](\([^)\n]*\)|\[[^\]\n]*\])?/g, '')
    .replace(/\[([^\]\n]*)\](\([^)\n]*\)|\[[^\]\n]*\])/g, '$1')
    .replace(/&#?\w{1,10};/g, ' ')
    .split('\n');
}

/** A line without its markup; '' where nothing is left that one could read: badges, rules, fields. */
function wordsOf(line: string): string {
  const bare = prose(line, 500);
  return /[\p{L}\p{N}]/u.test(bare) && !/^(\.\. |:\w+:)/.test(line.trim()) ? bare : '';
}

const noise =
  /copyright|licen[cs]e|spdx|all rights reserved|eslint|prettier|biome-ignore|@ts-|@flow|coding[:=]|noqa|pylint|shellcheck|generated|do not edit|^#!|vim:|use strict|go:build|\+build/i;

const hash = new Set(['py', 'pyi', 'rb', 'sh', 'bash', 'zsh', 'pl', 'pm', 'r', 'jl', 'ex', 'exs', 'tf', 'nix', 'ps1']);

/** The first sentence of the comment at the head of a source file; '' where it has none. */
export function headCommentOf(path: string, lines: string[]): string {
  const said: string[] = [];
  let block: RegExp | null = null;
  for (const line of lines.slice(0, maxLines)) {
    const text = line.trim();
    if (block !== null) {
      const ends = block.test(text);
      said.push(text.replace(block, '').replace(/^\*+\s?/, ''));
      if (ends) block = null;
    } else if (/^\/\*/.test(text)) {
      said.push(text.replace(/^\/\*+!?/, '').replace(/\*\/.*$/, ''));
      if (!text.includes('*/')) block = /\*\/.*$/;
    } else if (isPython(path) && /^[rbu]?("""|''')/i.test(text)) {
      const mark = text.includes('"""') ? '"""' : "'''";
      const rest = text.slice(text.indexOf(mark) + 3);
      said.push(rest.split(mark)[0] ?? '');
      if (!rest.includes(mark)) block = new RegExp(`${mark}.*$`);
    } else if (text.startsWith('//') || (hash.has(extensionOf(path)) && text.startsWith('#')) || /^<!--.*-->$/.test(text)) {
      said.push(text.replace(/^(\/\/[/!]?|#+!?.*\/bin\/.*|#+|<!--)\s?/, '').replace(/-->$/, ''));
    } else if (said.some((each) => isWords(each)) || (text !== '' && !noise.test(text))) break;
    else said.push('');
  }
  return firstOf(said);
}

function isPython(path: string): boolean {
  return /\.pyi?$/.test(nameOf(path));
}

function isWords(text: string): boolean {
  return /\p{L}{2}/u.test(text) && !noise.test(text) && !/^@\w/.test(text);
}

/** The first paragraph with words in it. */
function firstOf(lines: string[]): string {
  const start = lines.findIndex(isWords);
  if (start === -1) return '';
  const rest = lines.slice(start);
  const end = rest.findIndex((line) => !isWords(line));
  return sentence((end === -1 ? rest : rest.slice(0, end)).join(' '), 160);
}
