import { existsSync } from 'node:fs';
import type { Places } from '../command-paths.ts';
import type { Word } from '../read-word.ts';
import { type GitCommand, gitCommands, gitFlags } from './git-commands.ts';
import { operands, type Verb, type Writing } from './program.ts';

const url = /^(ext|fd|file|transport)::|::|^-/;

export const git: Verb = {
  textFlags: [
    '-m',
    '--message',
    '--grep',
    '--author',
    '--format',
    '--pretty',
    '--date',
    '--since',
    '--until',
    '--after',
    '--before',
    '-S',
    '-G',
  ],
  // Elsewhere `-m` may stand without a value.
  textFor: ['commit', 'tag', 'merge', 'stash', 'notes', 'log', 'show', 'rev-list', 'shortlog'],
  lines:
    `run foreach -x --exec --extcmd --tree-filter --index-filter --msg-filter --env-filter --commit-filter --tag-name-filter --parent-filter
    --open-files-in-pager -O`.split(/\s+/),
  writes: writing,
  check,
};

function check(words: Word[], places: Places): string | null {
  const at = commandAt(words);
  const before = words.slice(1, at === -1 ? undefined : at).find(({ text }) => !gitFlags.has(text));
  if (before) return `\`${before.text}\` before the subcommand changes what git obeys`;
  if (at === -1) return null;
  const name = (words[at] as Word).text;
  const rest = words.slice(at + 1);
  if (name === 'config') return isReading(rest) ? null : '`git config` changes what git obeys';
  const known = gitCommands.get(name);
  if (known === undefined) return `\`git ${name}\` is not known to be harmless`;
  const odd = rest.find(({ text }) => text.startsWith('-') && !isKnown(text, known));
  if (odd) return `\`${odd.text}\` of \`git ${name}\` is not known to be harmless`;
  const named = operands([words[at] as Word, ...rest]);
  const first = named.find(({ text }) => !/^\d+$/.test(text))?.text;
  if (known.first && first !== undefined && !known.first.includes(first)) return `\`git ${name} ${first}\` is not known to be harmless`;
  if (known.remote && named.some(({ text }) => url.test(text) || isLocal(text, places)))
    return 'a repository in a folder brings programs of its own, and so do some addresses';
  return null;
}

function commandAt(words: Word[]): number {
  return words.findIndex(({ text }, index) => index > 0 && !text.startsWith('-'));
}

/** Exactly as it is listed: an abbreviation may stand for another flag in another version. */
function isKnown(text: string, { plain = '', number = '', valued = '', long = [] }: GitCommand): boolean {
  if (text === '-' || text === '--') return true;
  if (text.startsWith('--')) return long.includes(text.slice(2).split('=', 1)[0] as string);
  let at = 1;
  while (at < text.length) {
    const letter = text[at++] as string;
    if (valued.includes(letter)) return true;
    if (number.includes(letter)) while (/[\d%,/]/.test(text[at] ?? '')) at++;
    else if (!plain.includes(letter) && !/\d/.test(letter)) return false;
  }
  return true;
}

function writing(words: Word[]): Writing | null {
  const at = commandAt(words);
  const known = gitCommands.get(words[at]?.text ?? '');
  return known?.writes === undefined ? null : { which: known.writes, paths: operands(words.slice(at)) };
}

function isReading(rest: Word[]): boolean {
  return (
    rest.length > 0 &&
    rest.every(({ text }, index) => (index === 0 ? /^(--get|--get-all|--get-regexp|--list|-l)$/.test(text) : !text.startsWith('-')))
  );
}

/** A folder as a remote brings its own configuration and hooks along. Git also tries the name with `.git` behind it. */
function isLocal(text: string, { bases }: Places): boolean {
  if (/^[./~]/.test(text)) return true;
  return bases.some((base) => existsSync(`${base}/${text}`) || existsSync(`${base}/${text}.git`));
}
