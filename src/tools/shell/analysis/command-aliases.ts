// Other spellings of a command, which only rules that deny or ask match against.
import { basename } from 'node:path';
import { denyCommand, writeSimpler } from './deny-command.ts';
import { formatWords, type ShellWord } from './read-word.ts';

const maxNames = 300;

export function findAliases(words: ShellWord[]): string[] {
  const [name, ...rest] = words as [ShellWord, ...ShellWord[]];
  const found = [
    words.map(({ text }) => text).join(' '),
    words
      .map(({ bare }) => bare)
      .filter((bare) => bare !== '')
      .join(' '),
    // `$IFS` separates words.
    words
      .map(({ text }) => text.replace(/\$IFS\b|\$\{IFS\}/g, ' ').trim())
      .filter((text) => text !== '')
      .join(' '),
  ];
  const plain = formatWords(rest);
  const base = basename(name.text);
  const names = new Set([base, base.toLowerCase(), basename(name.bare)]);
  // Each subcommand of git is a program as well: `git-push`.
  if (base.startsWith('git-')) names.add(`git ${base.slice(4)}`);
  const starts = findWordStarts(rest);
  for (const each of names) {
    found.push(`${each} ${plain}`.trim());
    for (const at of starts) found.push(`${each} ${formatWords(rest.slice(at))}`);
  }
  if (found.length > maxNames) denyCommand('has too many flags before its first word', writeSimpler);
  return found;
}

/**
 * Where the words may begin once leading flags and their values are removed: `git -C x push` is also `git push`. A flag has at most two values,
 * so the search ends after three words that are not flags.
 */
function findWordStarts(rest: ShellWord[]): number[] {
  const found: number[] = [];
  if (!rest[0]?.text.startsWith('-')) return found;
  for (let at = 1, run = 0; at < rest.length && run < 3; at++) {
    const isFlag = rest[at]?.text.startsWith('-');
    run = isFlag ? 0 : run + 1;
    if (!isFlag) found.push(at);
  }
  return found;
}
