// Reads an argument list in two steps over one parse: `parseArgv` splits it into flags and positionals by all flags that any command has, and
// `checkArgs` then checks the flags against those of one command. Node's own error messages are not used: they suggest no alternative.
import { parseArgs } from 'node:util';
import { RetinueError } from '../../contract/error.ts';
import { clipName, unknownNameMessage } from '../../text/suggest.ts';

export interface Flag {
  name: string;
  short?: string;
  /** Placeholder of the value in the help; a flag without one is a switch. */
  value?: string;
  /** May be given without a value, so a value is written as `--name=value`. */
  isOptional?: boolean;
  repeatable?: boolean;
  /** An empty value means something, such as no tools. */
  mayBeEmpty?: boolean;
  help: string;
}

/** One argument, in the order written. `raw` is the text that the user typed. */
export type Argument =
  | { kind: 'positional'; value: string /** Behind `--`, so never a command. */; isLiteral: boolean }
  | { kind: 'flag'; name: string; raw: string; value: string | undefined /** `--name=value` */; hasInlineValue: boolean };

/** The positionals and flags of one command. */
export interface Args {
  positionals: string[];
  /** In the order written. */
  given: { name: string; value: string }[];
  has(name: string): boolean;
  value(name: string): string | undefined;
  values(name: string): string[];
}

/** Splits an argument list. Flags that are not in `flags` are kept as switches, for `checkArgs` to reject. */
export function parseArgv(argv: string[], flags: Flag[]): Argument[] {
  const options = Object.fromEntries(
    flags.map(({ name, short, value, isOptional }) => [
      name,
      { type: value && !isOptional ? ('string' as const) : ('boolean' as const), ...(short ? { short } : {}) },
    ]),
  );
  const { tokens } = parseArgs({ args: argv, options, strict: false, allowPositionals: true, tokens: true });
  let isLiteral = false;
  return tokens.flatMap((token): Argument[] => {
    if (token.kind === 'option-terminator') isLiteral = true;
    if (token.kind === 'positional') return [{ kind: 'positional', value: token.value, isLiteral }];
    if (token.kind !== 'option') return [];
    const { name, rawName, value, inlineValue } = token;
    const raw = rawName.startsWith('--') ? rawName : (argv[token.index] as string);
    return [{ kind: 'flag', name, raw, value, hasInlineValue: inlineValue === true }];
  });
}

/** The arguments as those of a command with these flags. Throws `usage` that names the wrong flag and the nearest right one. */
export function checkArgs(parsed: Argument[], flags: Flag[]): Args {
  const positionals: string[] = [];
  const given: Args['given'] = [];
  for (const argument of parsed) {
    if (argument.kind === 'positional') {
      positionals.push(argument.value);
      continue;
    }
    const flag = flags.find(({ name }) => name === argument.name);
    if (!flag) throw unknownFlagError(argument.raw, flags);
    if (flag.value && !flag.repeatable && given.some(({ name }) => name === flag.name))
      throw new RetinueError('usage', `--${flag.name} is given twice; give it once`);
    given.push({ name: flag.name, value: checkValue(flag, argument, flags) });
  }
  return {
    positionals,
    given,
    has: (name) => given.some((flag) => flag.name === name),
    value: (name) => given.find((flag) => flag.name === name)?.value,
    values: (name) => given.filter((flag) => flag.name === name).map((flag) => flag.value),
  };
}

function checkValue(flag: Flag, { value, hasInlineValue }: Extract<Argument, { kind: 'flag' }>, flags: Flag[]): string {
  const written = `--${flag.name}`;
  if (!flag.value) {
    if (value === undefined) return '';
    throw new RetinueError('usage', `${written} takes no value`);
  }
  if (flag.isOptional && value === undefined) return '';
  // `--timeout --json` forgot the value. `--timeout -5` has a wrong one, which its own check rejects.
  const isNextFlag = !hasInlineValue && value !== undefined && (value.startsWith('--') || flags.some(({ short }) => `-${short}` === value));
  if (value === undefined || isNextFlag) throw new RetinueError('usage', `${written} needs a value: ${written} ${flag.value}`);
  if (value.trim() === '' && !flag.mayBeEmpty)
    throw new RetinueError('usage', `${written} needs a value, and this one is empty; write ${written} ${flag.value}, or leave it out`);
  // `--label =x` is `--label=x` with a space too many.
  if (!hasInlineValue && /^=[^=\s]\S*$/.test(value))
    throw new RetinueError('usage', `${written}: there is a space before \`${clipName(value)}\`; write ${written}${clipName(value)}`);
  return value;
}

function unknownFlagError(raw: string, flags: Flag[]): RetinueError {
  const names = flags.map(({ name }) => `--${name}`);
  const hint = raw.startsWith('--') ? '' : '; put `--` before words that begin with a dash';
  return new RetinueError('usage', unknownNameMessage('flag', raw, names) + hint);
}
