// The form of the tables: what is known about one program, and which of its operands it writes.
import type { PathScope } from '../command-paths.ts';
import type { ShellWord } from '../read-word.ts';

/**
 * What is known about a program beyond its name. The tables list what an ordinary rule must not let through: flags that start programs, write
 * files or read instructions. A program without a table is judged by its words alone.
 */
export interface Program {
  /** Letters of unsafe flags, alone or in a cluster (`-xo`). */
  unsafeLetters?: string;
  /** Letters whose value may follow in the same word; the rest of that word is then not a cluster of flags. */
  valueLetters?: string;
  /** Unsafe long flags without `--`. Abbreviations count too, because most programs accept them. */
  unsafeLong?: string[];
  /** Words that are unsafe exactly as written (`-exec`, `-delete`). */
  unsafeWords?: string[];
  /** Subcommands that are unsafe whatever follows. */
  unsafeSubcommands?: string[];
  /** All subcommands of the program; any other name is an alias from a configuration, an abbreviation or another program. */
  subcommands?: ReadonlySet<string>;
  /** Why every use of the program is unsafe. */
  alwaysUnsafe?: string;
  /** Runs the command given in its arguments, so each tail of its words becomes an alias. */
  runsItsArguments?: boolean;
  /** Words after which another command follows (`npm exec`); `*` if it follows the name. Unlike `runsItsArguments` this is not unsafe in itself. */
  runnerWords?: string[];
  /** Where its words contain a whole command line: after `-c`, after `-S`, or in any word and in all words joined. */
  codeAt?: 'flag' | 'split' | 'words';
  /** Words that are followed by a command line or contain one (`--call`, `git bisect run`). */
  codeFlags?: string[];
  /** Bash evaluates array indices in its words, and the substitutions in them. */
  evaluatesIndices?: boolean;
  /** Long flags may also begin with one dash or with three. */
  acceptsAnyDashes?: boolean;
  /** All its words are text, so paths and expansions in them are harmless. */
  takesOnlyText?: boolean;
  /** The first word that is not a flag is text, if only these flags (letters, long names) precede it. */
  firstIsText?: { letters: string; long: string[] };
  /** Flags whose next word or value is text. `textSubcommands` restricts this to certain subcommands. */
  textFlags?: string[];
  textSubcommands?: string[];
  /** Which operands name files that it writes. */
  writes?: 'all' | 'last' | ((words: ShellWord[]) => WrittenOperands | null);
  /** Returns why these words are unsafe, or null. */
  findProblem?(words: ShellWord[], scope: PathScope): string | null;
}

export interface WrittenOperands {
  which: 'all' | 'last';
  paths: ShellWord[];
}

/** One table entry for several programs; `names` is separated by blanks. */
export function createProgramsLike(names: string, program: Program): Record<string, Program> {
  return Object.fromEntries(splitList(names).map((name) => [name, program]));
}

/** Splits a list that is written as one text, separated by blanks and line breaks. */
export function splitList(text: string): string[] {
  return text.trim().split(/\s+/);
}

/** The operands that the program writes, according to its table. */
export function writtenOperands(words: ShellWord[], { writes }: Program): WrittenOperands | null {
  if (writes === undefined) return null;
  return typeof writes === 'function' ? writes(words) : { which: writes, paths: findOperands(words) };
}

/** Words that are not flags. The value after a flag counts as an operand too, because the tables do not say which flags take one. */
export function findOperands(words: readonly ShellWord[]): ShellWord[] {
  const end = words.findIndex(({ text }, index) => index > 0 && text === '--');
  return words.filter(
    ({ text }, index) => index > 0 && index !== end && (!text.startsWith('-') || text === '-' || (end !== -1 && index > end)),
  );
}
