import { basename } from 'node:path';
import { refuse } from './deny-command.ts';
import type { Verb } from './programs/program.ts';
import { shownWords, type Word } from './read-word.ts';

const maxNames = 300;
const simpler = 'write it as several simpler commands';

/** Other spellings of the same command, for rules that deny or ask. */
export function otherNames(words: Word[]): string[] {
  const [name, ...rest] = words as [Word, ...Word[]];
  const found = [
    words.map(({ text }) => text).join(' '),
    words
      .map(({ bare }) => bare)
      .join(' ')
      .trim(),
  ];
  const plain = shownWords(rest);
  const base = basename(name.text);
  const names = new Set([base, base.toLowerCase(), basename(name.bare)]);
  const starts = startsIn(rest);
  for (const each of names) {
    found.push(`${each} ${plain}`.trim());
    for (const at of starts) found.push(`${each} ${shownWords(rest.slice(at))}`);
  }
  if (found.length > maxNames) refuse('has too many flags before its first word', simpler);
  return found;
}

/**
 * Where the words may begin once flags and their values before them are left out: `git -C x push` is also `git push`. A flag has at most two
 * values, so that behind three words that are none nothing begins.
 */
function startsIn(rest: Word[]): number[] {
  const found: number[] = [];
  if (!rest[0]?.text.startsWith('-')) return found;
  for (let at = 1, run = 0; at < rest.length && run < 3; at++) {
    const isFlag = rest[at]?.text.startsWith('-');
    run = isFlag ? 0 : run + 1;
    if (!isFlag) found.push(at);
  }
  return found;
}

/** Whole command lines in the words. */
export function codeOf(words: Word[], { code, lines = [], evaluates = false }: Verb): string[] {
  const rest = words.slice(1).map(({ text }) => text);
  const indices = evaluates ? words.slice(1).flatMap(({ text, bare }) => (text === bare ? substituted(text) : [])) : [];
  const end = rest.indexOf('--');
  const own = end === -1 ? rest : rest.slice(0, end);
  return [...codeIn(rest, code), ...indices, ...own.flatMap((text, index) => lineAt(text, rest.slice(index + 1), lines))];
}

/** What stands in `$(…)` and backticks of a text that bash evaluates once more. */
export function substituted(text: string): string[] {
  return [...text.matchAll(/\$\(([^()]*)\)|`([^`]*)`/g)].map(([, first, second]) => first ?? second ?? '').filter((code) => code !== '');
}

/** What stands behind a word of `lines`, or touches it. */
function lineAt(text: string, after: string[], lines: string[]): string[] {
  const flag = lines.find((each) => (each.startsWith('--') ? text.startsWith(`${each}=`) : /^-/.test(each) && text.startsWith(each)));
  if (flag !== undefined && text !== flag) return [text.slice(flag.length).replace(/^=/, '')];
  if (!lines.includes(text) || after.length === 0) return [];
  const first = after.findIndex((each) => !each.startsWith('-'));
  return [...new Set([after[0] as string, after.join(' '), first === -1 ? '' : after.slice(first).join(' ')])].filter(
    (line) => line !== '',
  );
}

function codeIn(rest: string[], code: Verb['code']): string[] {
  if (code === 'words') return [rest.join(' '), ...rest.filter((text) => /[\s;&|`$(]/.test(text))];
  if (code === 'split') return rest.flatMap((text, index) => splitIn(text, rest[index + 1]));
  if (code !== 'flag') return [];
  // More flags may stand between `-c` and the line, and one of them, `-o`, takes a word.
  const at = rest.findIndex((text) => /^-[a-zA-Z]*c|^--command$/.test(text));
  const after = at === -1 ? [] : rest.slice(at + 1);
  const plain = after.filter((text) => !/^[-+]/.test(text));
  return plain.slice(0, /^[-+][a-zA-Z]*o$/i.test(rest[at] ?? '') || after.some((text) => /^[-+][a-zA-Z]*o$/i.test(text)) ? 2 : 1);
}

function splitIn(text: string, next: string | undefined): string[] {
  const inline = /^(?:-[a-zA-Z]*S|--split-string=)(.+)$/.exec(text)?.[1];
  if (inline !== undefined) return [inline];
  return /^(-[a-zA-Z]*S|--split-string)$/.test(text) && next !== undefined ? [next] : [];
}
