import type { Verb } from './verb.ts';

const state = 'it changes what later commands do';

/** What bash does itself. */
export const builtins: Record<string, Verb> = {
  ...Object.fromEntries(
    `export declare typeset readonly local unset unsetenv alias unalias set shopt enable hash bind complete compopt read mapfile readarray getopts let
     umask ulimit history fc shift suspend logout setenv`
      .split(/\s+/)
      .map((name) => [name, { always: state }]),
  ),
  echo: { text: true },
  printf: { text: true, words: ['-v'], check: ([, first]) => (first?.text.startsWith('-v') ? state : null) },
  ':': { text: true },
  true: { text: true },
  false: { text: true },
  test: { words: ['-v', '-R'] },
  '[': { words: ['-v', '-R'] },
  '[[': { text: true },
  cd: { check: changes },
  pushd: { check: changes },
  popd: { always: 'nobody knows where it leads' },
  wait: { short: 'p' },
  // Without a process of its own it waits for nobody; with one it ends others.
  kill: { always: 'it ends processes' },
  pkill: { always: 'it ends processes' },
  killall: { always: 'it ends processes' },
};

function changes(words: { text: string }[]): string | null {
  const [, target] = words;
  if (target === undefined) return 'it leads to the home directory';
  return /^[-+]/.test(target.text) ? 'nobody knows where it leads' : null;
}
