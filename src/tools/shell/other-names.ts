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
export function codeOf(words: Word[], { code = [] }: Verb): string[] {
  const found: string[] = [];
  const rest = words.slice(1);
  for (const [index, { text }] of rest.entries()) {
    const next = rest[index + 1];
    const isFlag = code.includes(text) || (/^-[a-zA-Z]*c$/.test(text) && code.includes('-c'));
    if (isFlag && text !== '*' && next) found.push(next.text);
    // A word with a blank in it is a line of its own to `watch`, `ssh`, `trap` and `parallel`.
    if (code.includes('*') && /[\s;&|`$(]/.test(text)) found.push(text);
  }
  return found;
}
