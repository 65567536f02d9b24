import type { Places } from '../command-paths.ts';
import type { Word } from '../read-word.ts';

/**
 * What is known about a program beyond its name. Tables list what must not slip through an ordinary pattern: flags that start programs, that
 * write files or that read instructions. Programs without a table are taken as they are written.
 */
export interface Verb {
  /** Letters of single flags, alone or in a cluster (`-xo`). */
  short?: string;
  /** Letters whose value may follow in the same word, so that the rest of a cluster is no flags. */
  values?: string;
  /** Long flags without `--`; beginnings of them count, because most programs take these. */
  long?: string[];
  /** Words that are hostile as they stand (`-exec`, `-delete`). */
  words?: string[];
  /** First words (subcommands) that are hostile whatever follows. */
  first?: string[];
  /** Why every use of it is unsafe. */
  always?: string;
  /** Runs the command in its own arguments: each rest of the words is an alias. */
  wraps?: boolean;
  /** Words behind which another command stands (`npm exec`); `*`: it stands behind the name. Unlike `wraps` it is not unsafe for that. */
  runs?: string[];
  /** Where a whole command line stands in its words: behind `-c`, behind `-S`, or in any of them and in all together. */
  code?: 'flag' | 'split' | 'words';
  /** Words behind which, or in the rest of which, a command line stands (`--call`, `git bisect run`). */
  lines?: string[];
  /** Bash evaluates indices in its words, and what is substituted in them. */
  evaluates?: boolean;
  /** Long flags may also begin with one dash, or with three. */
  anyDashes?: boolean;
  /** All its words are text: neither paths nor expansions in them do harm. */
  text?: boolean;
  /** The first word that is no flag is text, if only these flags (letters, long names) stand before it. */
  textAfter?: { letters: string; long: string[] };
  /** Flags whose next word, or whose value, is text. `textFor`: only after these first words. */
  textFlags?: string[];
  textFor?: string[];
  /** Which operands name files that it writes. */
  writes?: 'all' | 'last' | ((words: Word[]) => Writing | null);
  /** Says why these words are unsafe, or null. */
  check?(words: Word[], places: Places): string | null;
}

export interface Writing {
  which: 'all' | 'last';
  paths: Word[];
}

/** The operands that are written, as far as its table says. */
export function writingOf(words: Word[], { writes }: Verb): Writing | null {
  if (writes === undefined) return null;
  return typeof writes === 'function' ? writes(words) : { which: writes, paths: operands(words) };
}

/** Words that are no flags. What follows a flag that takes a value counts as one too: the reader cannot know. */
export function operands(words: readonly Word[]): Word[] {
  const end = words.findIndex(({ text }, index) => index > 0 && text === '--');
  return words.filter(
    ({ text }, index) => index > 0 && index !== end && (!text.startsWith('-') || text === '-' || (end !== -1 && index > end)),
  );
}
