import { RetinueError } from '../contract/error.ts';
import { nearestName } from '../text/suggest.ts';
import { type Command, help } from './command.ts';
import { commands, reserved } from './commands.ts';
import { type Flag, firstWord } from './flags.ts';

export type Routed =
  | { kind: 'overview'; asked: boolean }
  | { kind: 'version' }
  | { kind: 'help'; command: Command }
  | { kind: 'command'; command: Command; argv: string[] };

/** Finds out which command an argument list means. Throws `usage` for a word that looks like a mistyped one. */
export function route(argv: string[]): Routed {
  const [first] = argv;
  if (first === undefined) return { kind: 'overview', asked: false };
  if (first === '--version' || first === '-V' || first === 'version') return { kind: 'version' };
  // As a program that starts children by itself would call it.
  if (first === '--subagent') return route(['subagent', ...argv.slice(1)]);
  if (first === 'help') return helpFor(argv[1]);
  if (first === '--help' || first === '-h') return helpFor(argv.slice(1).find((word) => !word.startsWith('-')));
  const { command, rest } = split(argv);
  const end = rest.indexOf('--');
  const asks = rest.slice(0, end < 0 ? rest.length : end).some((word) => word === '--help' || word === '-h');
  return asks ? { kind: 'help', command } : { kind: 'command', command, argv: rest };
}

function helpFor(word: string | undefined): Routed {
  if (word === undefined) return { kind: 'overview', asked: true };
  const command = byName(word);
  if (!command) throw new RetinueError('usage', `unknown command \`${word}\`${suggestion(word)}`);
  return { kind: 'help', command };
}

/** The command may stand after flags: `retinue -C dir ps`. */
function split(argv: string[]): { command: Command; rest: string[] } {
  const runs = byName('run') as Command;
  const index = firstWord(argv, everyFlag());
  const word = index === null ? undefined : argv[index];
  if (index === null || word === undefined) return { command: runs, rest: argv };
  // Words after `--` are never commands.
  if (argv.slice(0, index).includes('--')) return { command: runs, rest: argv };
  const command = byName(word);
  if (command) return { command, rest: argv.toSpliced(index, 1) };
  const alone = argv.slice(index + 1).every((other) => other.startsWith('-'));
  refuseMistyped(word, alone);
  return { command: runs, rest: argv };
}

/** A run costs money, so a slip of the finger must not become one. */
function refuseMistyped(word: string, alone: boolean): void {
  if (/\s/.test(word) || word === '-') return;
  const how = `; to give it as a task: retinue run "${word}${alone ? '' : ' …'}"`;
  if (alone && reserved.includes(word)) throw new RetinueError('usage', `\`${word}\` is not in this version of Retinue${how}`);
  const names = commands.map((command) => command.name);
  const near = nearestName(word, names);
  // `what is this?` is near `wait`, and a good task: among several words only the smallest slip counts.
  if (near !== null && (alone || (word.length > 2 && oneSlip(word, near))))
    throw new RetinueError('usage', `unknown command \`${word}\`; did you mean \`${near}\`?${how}`);
}

function suggestion(word: string): string {
  const names = commands.map((command) => command.name);
  const near = nearestName(word, names);
  return near === null ? ` (there are: ${names.join(', ')})` : `; did you mean \`${near}\`?`;
}

export function byName(name: string): Command | undefined {
  return commands.find((command) => command.name === name);
}

function everyFlag(): Flag[] {
  const flags = new Map<string, Flag>([[help.name, help]]);
  for (const command of commands) for (const flag of command.flags) flags.set(flag.name, flag);
  return [...flags.values()];
}

/** One letter put in, left out or changed, or two neighbours swapped. */
function oneSlip(a: string, b: string): boolean {
  let from = 0;
  while (from < a.length && a[from] === b[from]) from++;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - from && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const [left, right] = [a.slice(from, a.length - tail), b.slice(from, b.length - tail)];
  if (left.length <= 1 && right.length <= 1) return true;
  return left.length === 2 && right.length === 2 && left[0] === right[1] && left[1] === right[0];
}
