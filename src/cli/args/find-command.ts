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
  const { command, isNamed } = chooseCommand(parseArgv(normalized, allFlags()));
  if (hasHelpFlag(normalized)) return { kind: 'help', command };
  const args = parseArgv(normalized, allFlags(command));
  return { kind: 'command', command, args: isNamed ? withoutName(args) : args };
}

function withoutName(args: Argument[]): Argument[] {
  return args.toSpliced(
    args.findIndex(({ kind }) => kind === 'positional'),
    1,
  );
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

/** The command may follow flags: `retinue -C dir ps`. `isNamed`: the first positional is its name. */
function chooseCommand(args: Argument[]): { command: Command; isNamed: boolean } {
  const positionals = args.filter(({ kind }) => kind === 'positional') as Extract<Argument, { kind: 'positional' }>[];
  const [first] = positionals;
  if (first === undefined) {
    const known = allFlags();
    checkArgs(args, [...known, versionFlag]);
    throw new RetinueError('usage', 'the command is missing; `retinue run "TASK"` starts an agent, `retinue --help` lists the commands');
  }
  const command = first.isLiteral ? undefined : commandNamed(first.value);
  if (command) return { command, isNamed: true };
  const words = positionals.map(({ value }) => value).filter((value) => value !== '-');
  if (words.length === 1 && hasSeveralWords(words[0] as string)) return { command: commandNamed('run') as Command, isNamed: false };
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

/**
 * The flags of all commands; those of `command` as that command has them. Flags of the same name are parsed alike, except that one command may
 * have a flag with an optional value: `test/cli/usage.test.ts` checks it.
 */
function allFlags(command?: Command): Flag[] {
  const flags = new Map<string, Flag>([[helpFlag.name, helpFlag]]);
  for (const { flags: its } of commands) for (const flag of its) if (!flags.get(flag.name)?.isOptional) flags.set(flag.name, flag);
  for (const flag of command?.flags ?? []) flags.set(flag.name, flag);
  return [...flags.values()];
}
