// git: only listed subcommands and flags pass. The lists are in `git-commands.ts`.
import { existsSync } from 'node:fs';
import type { PathScope } from '../command-paths.ts';
import type { ShellWord } from '../read-word.ts';
import { type GitCommand, gitCommands, gitFlags, gitSubcommands } from './git-commands.ts';
import { findRepository } from './git-repository.ts';
import { findGitProgram } from './git-settings.ts';
import { findOperands, type Program, splitList, type WrittenOperands } from './program.ts';

const unsafeRemote = /^(ext|fd|file|transport)::|::|^-/;

export const git: Program = {
  textFlags: splitList('-m --message --grep --author --format --pretty --date --since --until --after --before -S -G'),
  // For other subcommands `-m` may have no value.
  textSubcommands: splitList('commit tag merge stash notes log show rev-list shortlog'),
  codeFlags:
    splitList(`run foreach -x --exec --extcmd --tree-filter --index-filter --msg-filter --env-filter --commit-filter --tag-name-filter
    --parent-filter --open-files-in-pager -O`),
  subcommands: gitSubcommands,
  writes: gitWrittenOperands,
  findProblem: checkGit,
};

function checkGit(words: ShellWord[], scope: PathScope): string | null {
  const at = findSubcommand(words);
  const before = words.slice(1, at === -1 ? undefined : at).find(({ text }) => !gitFlags.has(text));
  if (before) return `\`${before.text}\` before the subcommand changes which settings git uses`;
  if (at === -1) return null;
  const name = (words[at] as ShellWord).text;
  const rest = words.slice(at + 1);
  if (name === 'config') return isReadOnlyConfig(rest) ? null : '`git config` changes the settings of git';
  const known = gitCommands.get(name);
  if (known === undefined) return `\`git ${name}\` is not known to be harmless`;
  const flag = rest.find(({ text }) => text.startsWith('-') && !isKnownFlag(text, known));
  if (flag) return `\`${flag.text}\` of \`git ${name}\` is not known to be harmless`;
  const named = findOperands([words[at] as ShellWord, ...rest]);
  const first = named.find(({ text }) => !/^\d+$/.test(text))?.text;
  if (known.allowedFirst && first !== undefined && !known.allowedFirst.includes(first))
    return `\`git ${name} ${first}\` is not known to be harmless`;
  if (known.usesRemote && named.some(({ text }) => unsafeRemote.test(text) || isLocalRepository(text, scope)))
    return 'a local repository, and some addresses, can make git start programs';
  return scope.isConfined ? null : findGitProgram(name, rest, scope);
}

function findSubcommand(words: ShellWord[]): number {
  return words.findIndex(({ text }, index) => index > 0 && !text.startsWith('-'));
}

/** Abbreviations do not count: they may mean another flag in another version of git. */
function isKnownFlag(text: string, { plain = '', number = '', valued = '', long = [] }: GitCommand): boolean {
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

function gitWrittenOperands(words: ShellWord[]): WrittenOperands | null {
  const at = findSubcommand(words);
  const known = gitCommands.get(words[at]?.text ?? '');
  return known?.writes === undefined ? null : { which: known.writes, paths: findOperands(words.slice(at)) };
}

function isReadOnlyConfig(rest: ShellWord[]): boolean {
  return (
    rest.length > 0 &&
    rest.every(({ text }, index) => (index === 0 ? /^(--get|--get-all|--get-regexp|--list|-l)$/.test(text) : !text.startsWith('-')))
  );
}

/** A directory used as a remote has configuration and hooks of its own. Git also tries the name with `.git` appended. */
function isLocalRepository(text: string, { bases, isConfined }: PathScope): boolean {
  if (/^[./~]/.test(text)) return true;
  // Git changes to the top of the working tree before it looks.
  const top = isConfined ? undefined : findRepository(bases[0] as string).repository?.top;
  return [...bases, ...(top === undefined ? [] : [top])].some((base) => existsSync(`${base}/${text}`) || existsSync(`${base}/${text}.git`));
}
