// Builtins of bash, and programs that end processes.
import type { ShellWord } from '../read-word.ts';
import { createProgramsLike, type Program } from './program.ts';

const changesState = 'it changes what later commands do';
const changer: Program = { alwaysUnsafe: changesState, evaluatesIndices: true };
const killer: Program = { alwaysUnsafe: 'it ends processes' };

export const builtins: Record<string, Program> = {
  ...createProgramsLike(
    `export declare typeset readonly local unset unsetenv alias unalias set shopt enable hash bind complete compopt read mapfile readarray getopts let
     umask ulimit history fc shift suspend logout setenv`,
    changer,
  ),
  ...createProgramsLike('mapfile readarray', { ...changer, codeFlags: ['-C'] }),
  complete: { ...changer, codeFlags: ['-C', '-F'] },
  compgen: { alwaysUnsafe: 'it executes its words as a command', codeFlags: ['-C', '-F'], evaluatesIndices: true },
  echo: { takesOnlyText: true },
  printf: { takesOnlyText: true, unsafeWords: ['-v'], findProblem: checkPrintf, evaluatesIndices: true },
  ':': { takesOnlyText: true },
  true: { takesOnlyText: true },
  false: { takesOnlyText: true },
  test: { unsafeWords: ['-v', '-R'], evaluatesIndices: true },
  '[': { unsafeWords: ['-v', '-R'], evaluatesIndices: true },
  '[[': { takesOnlyText: true },
  cd: { findProblem: checkCd },
  pushd: { findProblem: checkCd },
  popd: { alwaysUnsafe: 'the directory it changes to is unknown' },
  wait: { unsafeLetters: 'p' },
  jobs: { unsafeLetters: 'x', runsItsArguments: true },
  ...createProgramsLike('kill pkill killall', killer),
};

/** `%n` sets the variable that an argument names. */
function checkPrintf(words: ShellWord[]): string | null {
  const format = words[1]?.text === '--' ? words[2] : words[1];
  if (format === undefined) return null;
  if (!format.literal || format.text.startsWith('-')) return 'its format is unknown and can set variables';
  return /%[^A-Za-z\\]*[hjlLtzq]*n/.test(format.text) ? changesState : null;
}

function checkCd(words: ShellWord[]): string | null {
  const [, target] = words;
  if (target === undefined) return 'it changes to the home directory';
  return /^[-+]/.test(target.text) ? 'the directory it changes to is unknown' : null;
}
