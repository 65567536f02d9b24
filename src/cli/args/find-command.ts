// Decides which command an argument list means. Only `run`, or a single argument of several words, starts an agent: a run costs money, so a
// word that is no command is an error.
import { RetinueError } from '../../contract/error.ts';
import { clipName, nearestName } from '../../text/suggest.ts';
import { type Command, helpFlag } from '../command.ts';
import { commands } from '../commands.ts';
import { type Argument, checkArgs, type Flag, parseArgv } from './parse-args.ts';

export type Invocation =
  | { kind: 'overview'; isRequested: boolean }
  | { kind: 'version' }
  | { kind: 'help'; command: Command }
  | { kind: 'command'; command: Command; args: Argument[] };

/** Throws `usage` for a word that is no command. */
export function findCommand(argv: string[]): Invocation {
  const [first, ...rest] = argv;
  if (first === undefined) return { kind: 'overview', isRequested: false };
  if (first === '--version' || first === '-V' || first === '-v' || first === 'version') return { kind: 'version' };
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
  throw new RetinueError('usage', unknownCommandMessage(name));
}

/** The command may follow flags: `retinue -C dir ps`. */
function splitCommand(args: Argument[]): { command: Command; args: Argument[] } {
  const positionals = args.filter(({ kind }) => kind === 'positional') as Extract<Argument, { kind: 'positional' }>[];
  const [first] = positionals;
  if (first === undefined) {
    const known = allFlags();
    checkArgs(args, [...known, versionFlag]);
    throw new RetinueError('usage', 'the command is missing; `retinue run "TASK"` starts an agent, `retinue --help` lists the commands');
  }
  const command = first.isLiteral ? undefined : commandNamed(first.value);
  if (command) return { command, args: args.toSpliced(args.indexOf(first), 1) };
  const words = positionals.map(({ value }) => value).filter((value) => value !== '-');
  if (words.length === 1 && hasSeveralWords(words[0] as string)) return { command: commandNamed('run') as Command, args };
  throw new RetinueError('usage', `${unknownCommandMessage(first.value)}\n${howToRun(positionals.map(({ value }) => value))}`);
}

/** Only without a command. */
const versionFlag: Flag = { name: 'version', short: 'V', help: 'print the version' };

function hasSeveralWords(text: string): boolean {
  return /\S\s+\S/.test(text);
}

function unknownCommandMessage(name: string): string {
  const nearest = nearestName(
    name,
    commands.flatMap((command) => [command.name, ...(command.aliases ?? [])]),
  );
  return `unknown command \`${clipName(name)}\`${nearest === null ? '; `retinue --help` lists the commands' : `; did you mean \`${nearest}\`?`}`;
}

/** The same words as a task. */
function howToRun(words: string[]): string {
  const task = words.filter((word) => word !== '-').join(' ');
  const input = words.includes('-') ? ' -' : '';
  return `To give it to an agent as a task: retinue run${task === '' ? '' : ` "${task.length > 100 ? `${task.slice(0, 100)}…` : task}"`}${input}`;
}

function commandNamed(name: string): Command | undefined {
  return commands.find((command) => command.name === name || command.aliases?.includes(name));
}

/** Flags of the same name mean the same in every command, as far as parsing goes: `test/cli/usage.test.ts` checks it. */
function allFlags(): Flag[] {
  const flags = new Map<string, Flag>([[helpFlag.name, helpFlag]]);
  for (const command of commands) for (const flag of command.flags) flags.set(flag.name, flag);
  return [...flags.values()];
}
