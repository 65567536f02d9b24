// How much of a command is certain before it runs. Rules that deny or ask and could match the rest then ask.
import { basename } from 'node:path';
import { isUnsafeFlag } from './flags.ts';
import { findLiteralStart } from './named-files.ts';
import { isCommandShell } from './programs/launchers.ts';
import type { Program } from './programs/program.ts';
import { formatWords, type ShellWord } from './read-word.ts';

/** The beginnings that are certain; none if the whole command is. */
export function findKnownStarts(words: ShellWord[], program: Program): string[] {
  const [name, ...rest] = words as [ShellWord, ...ShellWord[]];
  const base = basename(name.text);
  const starts = new Set<string>();
  if (startsUnknownCommand(rest, program) || (isCommandShell(base) && readsCommands(rest))) starts.add('');
  const at = words.findIndex(isUnknown);
  if (at === 0) starts.add(findLiteralStart(name));
  if (at > 0) {
    const begin = findLiteralStart(words[at] as ShellWord);
    starts.add(`${formatWords(words.slice(0, at))} ${begin}`);
    starts.add(`${[base, ...words.slice(1, at).map(({ text }) => text)].join(' ')} ${begin}`);
    // Flags before a subcommand may have values, so the unknown word may be the subcommand.
    if (rest[0]?.text.startsWith('-')) starts.add(`${base} `);
  }
  const takesValue = (word: ShellWord | undefined) => word !== undefined && valuedFlags.has(word.text);
  const subcommand = rest.find(({ text }, index) => !text.startsWith('-') && !takesValue(rest[index - 1]));
  if (program.subcommands && subcommand && !program.subcommands.has(subcommand.text)) starts.add(`${base} `);
  return [...starts];
}

/** The name of `<(…)` and numbers such as `$?` cannot be what a rule denies. */
function isUnknown({ literal, unknownReason, mask }: ShellWord): boolean {
  return !literal && (unknownReason !== null || /[*?[]/.test(mask));
}

/** Flags before the subcommand whose value is the next word. */
const valuedFlags = new Set([
  '-c',
  '-C',
  '--git-dir',
  '--work-tree',
  '--namespace',
  '--super-prefix',
  '--config-env',
  '--prefix',
  '--config',
]);

/** Whether a word that is unknown may name a command that the program starts. An assignment cannot. */
function startsUnknownCommand(rest: ShellWord[], program: Program): boolean {
  const starts = program.runsItsArguments && (program.alwaysUnsafe !== undefined || rest.some((word) => isUnsafeFlag(word, program)));
  const runners = [...(program.runnerWords ?? []), ...(program.codeFlags ?? [])];
  const from = runners.includes('*') ? 0 : rest.findIndex(({ text }) => runners.includes(text.split('=', 1)[0] as string));
  const given = starts || program.codeAt !== undefined ? rest : from === -1 ? [] : rest.slice(from);
  return given.some((word) => !word.literal && !findLiteralStart(word).includes('='));
}

/** Without a script, a shell executes its standard input. */
function readsCommands(rest: ShellWord[]): boolean {
  return rest.every(({ text }) => /^[-+]/.test(text)) && !rest.some(({ text }) => /^-[a-z]*c$|^--(version|help)$/.test(text));
}
