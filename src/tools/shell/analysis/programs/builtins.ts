import type { Word } from '../read-word.ts';
import type { Verb } from './program.ts';

const state = 'it changes what later commands do';

/** What bash does itself. */
export const builtins: Record<string, Verb> = {
  ...Object.fromEntries(
    `export declare typeset readonly local unset unsetenv alias unalias set shopt enable hash bind complete compopt read mapfile readarray getopts let
     umask ulimit history fc shift suspend logout setenv`
      .split(/\s+/)
      .map((name) => [name, { always: state, evaluates: true }]),
  ),
  echo: { text: true },
  printf: { text: true, words: ['-v'], check: prints, evaluates: true },
  ':': { text: true },
  true: { text: true },
  false: { text: true },
  test: { words: ['-v', '-R'], evaluates: true },
  '[': { words: ['-v', '-R'], evaluates: true },
  '[[': { text: true },
  cd: { check: changes },
  pushd: { check: changes },
  popd: { always: 'nobody knows where it leads' },
  wait: { short: 'p' },
  jobs: { short: 'x', wraps: true },
  mapfile: { always: state, lines: ['-C'], evaluates: true },
  readarray: { always: state, lines: ['-C'], evaluates: true },
  compgen: { always: 'it executes its words as a command', lines: ['-C', '-F'], evaluates: true },
  complete: { always: state, lines: ['-C', '-F'], evaluates: true },
  // Without a process of its own it waits for nobody; with one it ends others.
  kill: { always: 'it ends processes' },
  pkill: { always: 'it ends processes' },
  killall: { always: 'it ends processes' },
};

/** `%n` sets the variable that an argument names. */
function prints(words: Word[]): string | null {
  const format = words[1]?.text === '--' ? words[2] : words[1];
  if (format === undefined) return null;
  if (!format.literal || format.text.startsWith('-')) return 'nobody knows its format, which can set variables';
  return /%[^A-Za-z\\]*[hjlLtzq]*n/.test(format.text) ? state : null;
}

function changes(words: { text: string }[]): string | null {
  const [, target] = words;
  if (target === undefined) return 'it leads to the home directory';
  return /^[-+]/.test(target.text) ? 'nobody knows where it leads' : null;
}
