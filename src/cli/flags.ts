import { parseArgs } from 'node:util';
import { RetinueError } from '../contract/error.ts';
import { unknownNameMessage } from '../text/suggest.ts';

export interface Flag {
  name: string;
  short?: string;
  /** What stands for the value in the help; a flag without one is a switch. */
  value?: string;
  many?: boolean;
  help: string;
}

/** The words and flags of one command, in the order in which they were written. */
export interface Args {
  words: string[];
  given: { name: string; value: string }[];
  has(name: string): boolean;
  /** The last one counts. */
  value(name: string): string | undefined;
  values(name: string): string[];
}

/** Checks an argument list against the flags there are. Throws `usage` that names the flag and the nearest right one. */
export function parse(argv: string[], flags: Flag[]): Args {
  const words: string[] = [];
  const given: { name: string; value: string }[] = [];
  for (const token of tokens(argv, flags)) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const flag = flags.find((f) => f.name === token.name);
    const written = argv[token.index] as string;
    if (!flag) throw unknownFlag(token.rawName.startsWith('--') ? token.rawName : written, flags);
    given.push({ name: flag.name, value: checked(flag, token, flags) });
  }
  return {
    words,
    given,
    has: (name) => given.some((g) => g.name === name),
    value: (name) => given.findLast((g) => g.name === name)?.value,
    values: (name) => given.filter((g) => g.name === name).map((g) => g.value),
  };
}

/** Where the first word stands that is neither a flag nor the value of one; null where there is none. */
export function firstWord(argv: string[], flags: Flag[]): number | null {
  return tokens(argv, flags).find((token) => token.kind === 'positional')?.index ?? null;
}

function tokens(argv: string[], flags: Flag[]) {
  const options = Object.fromEntries(
    flags.map((f) => [f.name, { type: f.value ? ('string' as const) : ('boolean' as const), ...(f.short ? { short: f.short } : {}) }]),
  );
  // Not strict: Node's own complaints name neither the nearest flag nor what is right.
  return parseArgs({ args: argv, options, strict: false, allowPositionals: true, tokens: true }).tokens;
}

type OptionToken = { rawName: string; value?: string | undefined; inlineValue?: boolean | undefined };

function checked(flag: Flag, token: OptionToken, flags: Flag[]): string {
  const { value, rawName } = token;
  if (!flag.value) {
    if (value === undefined) return '';
    throw new RetinueError('usage', `${rawName} takes no value`);
  }
  // `--timeout -5` is a wrong value and is told so by its reader; `--timeout --json` forgot the value.
  const swallowed = !token.inlineValue && value !== undefined && (value.startsWith('--') || flags.some((f) => `-${f.short}` === value));
  if (value === undefined || swallowed) throw new RetinueError('usage', `${rawName} needs a value: ${rawName} ${flag.value}`);
  return value;
}

function unknownFlag(written: string, flags: Flag[]): RetinueError {
  const message = unknownNameMessage(
    'flag',
    written,
    flags.map((f) => `--${f.name}`),
  );
  const hint = written.startsWith('--') ? '' : '; put `--` before words that begin with a dash';
  return new RetinueError('usage', message + hint);
}
