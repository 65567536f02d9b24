// Decides which command an argument list means. Whatever names no command is a task for `run`, unless it looks like a mistyped command.
import { RetinueError } from '../../contract/error.ts';
import { nearestName } from '../../text/suggest.ts';
import { type Command, helpFlag } from '../command.ts';
import { commands } from '../commands.ts';
import { type Argument, type Flag, parseArgv } from './parse-args.ts';

export type Invocation =
  | { kind: 'overview'; isRequested: boolean }
  | { kind: 'version' }
  | { kind: 'help'; command: Command }
  | { kind: 'command'; command: Command; args: Argument[] };

/** Reserved for future commands. A task of only this word is probably a mistake. */
const reservedNames = ['top', 'serve'];

/** Throws `usage` for a word that looks like a mistyped command. */
export function findCommand(argv: string[]): Invocation {
  const [first, ...rest] = argv;
  if (first === undefined) return { kind: 'overview', isRequested: false };
  if (first === '--version' || first === '-V' || first === 'version') return { kind: 'version' };
  if (first === 'help') return findHelp(rest[0]);
  if (first === '--help' || first === '-h') return findHelp(rest.find((word) => !word.startsWith('-')));
  // Programs that start Retinue as a subagent use `--subagent` instead of the command.
  const normalized = first === '--subagent' ? ['subagent', ...rest] : argv;
  const { command, args } = splitCommand(parseArgv(normalized, allFlags()));
  return hasHelpFlag(normalized) ? { kind: 'help', command } : { kind: 'command', command, args };
}

/** `--help` works even if other arguments are invalid, so this looks at the raw words. */
function hasHelpFlag(argv: string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end < 0 ? argv.length : end).some((word) => word === '--help' || word === '-h');
}

function findHelp(name: string | undefined): Invocation {
  if (name === undefined) return { kind: 'overview', isRequested: true };
  const command = commandNamed(name);
  if (command) return { kind: 'help', command };
  const nearest = nearestName(name, commandNames());
  const hint = nearest === null ? ` (commands: ${commandNames().join(', ')})` : `; did you mean \`${nearest}\`?`;
  throw new RetinueError('usage', `unknown command \`${name}\`${hint}`);
}

/** The command may follow flags: `retinue -C dir ps`. */
function splitCommand(args: Argument[]): { command: Command; args: Argument[] } {
  const run = commandNamed('run') as Command;
  const index = args.findIndex(({ kind }) => kind === 'positional');
  const word = args[index];
  if (word?.kind !== 'positional' || word.isLiteral) return { command: run, args };
  const command = commandNamed(word.value);
  if (command) return { command, args: args.toSpliced(index, 1) };
  const isOnlyWord = !args.slice(index + 1).some(({ kind }) => kind === 'positional');
  rejectMistyped(word.value, isOnlyWord);
  return { command: run, args };
}

/** A run costs money, so a typing mistake must not start one. */
function rejectMistyped(word: string, isOnlyWord: boolean): void {
  if (/\s/.test(word) || word === '-') return;
  const alternative = `To run it as a task: retinue run "${word}${isOnlyWord ? '' : ' …'}"`;
  if (isOnlyWord && reservedNames.includes(word))
    throw new RetinueError('usage', `this version of Retinue has no command \`${word}\`. ${alternative}`);
  const nearest = nearestName(word, commandNames());
  // `what is this?` is near `wait` and a good task: among several words only a single mistake counts.
  if (nearest !== null && (isOnlyWord || (word.length > 2 && isOneEditApart(word, nearest))))
    throw new RetinueError('usage', `unknown command \`${word}\`; did you mean \`${nearest}\`? ${alternative}`);
}

function commandNames(): string[] {
  return commands.map(({ name }) => name);
}

function commandNamed(name: string): Command | undefined {
  return commands.find((command) => command.name === name);
}

/** Flags of the same name mean the same in every command, as far as parsing goes: `test/cli/usage.test.ts` checks it. */
function allFlags(): Flag[] {
  const flags = new Map<string, Flag>([[helpFlag.name, helpFlag]]);
  for (const command of commands) for (const flag of command.flags) flags.set(flag.name, flag);
  return [...flags.values()];
}

/** One letter inserted, removed or changed, or two neighbours swapped. */
function isOneEditApart(a: string, b: string): boolean {
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  if (left.length <= 1 && right.length <= 1) return true;
  return left.length === 2 && right.length === 2 && left[0] === right[1] && left[1] === right[0];
}
