import { basename } from 'node:path';
import type { Verb } from './verbs/verb.ts';
import { shownWords, type Word } from './word.ts';

/** Other spellings of the same command, for rules that deny or ask. */
export function otherNames(words: Word[]): string[] {
  const [name, ...rest] = words as [Word, ...Word[]];
  const found = [
    words.map(({ text }) => text).join(' '),
    words
      .map(({ bare }) => bare)
      .join(' ')
      .trim()
      .replace(/^[{](.*)[}]$/, (_, list: string) => list.replaceAll(',', ' ')),
  ];
  const plain = shownWords(rest);
  const base = basename(name.text);
  const names = new Set([base, base.toLowerCase(), basename(name.bare)]);
  for (const each of names) {
    found.push(`${each} ${plain}`.trim());
    // `git -C x push` is also `git push`: flags and their values before the first word are left out one by one.
    if (!rest[0]?.text.startsWith('-')) continue;
    for (let at = 1; at < Math.min(rest.length, 12); at++) {
      const left = rest.slice(at);
      if (!left[0]?.text.startsWith('-')) found.push(`${each} ${shownWords(left)}`);
    }
  }
  return found;
}

/** Whole command lines in the words. */
export function codeOf(words: Word[], { code, lines = [] }: Verb): string[] {
  const rest = words.slice(1).map(({ text }) => text);
  return [...codeIn(rest, code), ...rest.flatMap((text, index) => lineAt(text, rest.slice(index + 1), lines))];
}

/** What stands behind a word of `lines`, or touches it. */
function lineAt(text: string, after: string[], lines: string[]): string[] {
  const flag = lines.find((each) => (each.startsWith('--') ? text.startsWith(`${each}=`) : /^-/.test(each) && text.startsWith(each)));
  if (flag !== undefined && text !== flag) return [text.slice(flag.length).replace(/^=/, '')];
  if (!lines.includes(text) || after.length === 0) return [];
  return [...new Set([after[0] as string, after.join(' ')])];
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
