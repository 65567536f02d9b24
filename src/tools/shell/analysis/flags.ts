// Applies the flag tables of a program: which words are unsafe flags, and which are plain text.
import type { Program } from './programs/program.ts';
import type { ShellWord } from './read-word.ts';

/** Whether the table of the program lists this flag as unsafe: alone, abbreviated, in a cluster or with a value. */
export function isUnsafeFlag({ text }: ShellWord, program: Program): boolean {
  const { unsafeLetters = '', valueLetters = '', unsafeLong = [], unsafeWords = [], acceptsAnyDashes = false } = program;
  if (unsafeWords.includes(text)) return true;
  if (acceptsAnyDashes ? /^-+[^-]/.test(text) : /^--+[^-]/.test(text)) {
    const name = text.replace(/^-+/, '').split('=', 1)[0] as string;
    if (name.length > (text.startsWith('--') ? 0 : 1) && unsafeLong.some((each) => each.startsWith(name))) return true;
  }
  if (!/^-[^-]/.test(text)) return false;
  for (const letter of text.slice(1)) {
    if (unsafeLetters.includes(letter)) return true;
    if (valueLetters.includes(letter)) return false;
  }
  return false;
}

/** The words that the program treats as text. */
export function findTextWords(rest: ShellWord[], { firstIsText, textFlags = [], textSubcommands }: Program): Set<ShellWord> {
  const texts = new Set<ShellWord>();
  if (textSubcommands === undefined || textSubcommands.includes(rest[0]?.text ?? ''))
    for (const [index, word] of rest.entries()) {
      if (word.text === '--') break;
      if (isFlagValue(rest, index, { texts, firstIsText })) continue;
      if (textFlags.some((flag) => word.text.startsWith(`${flag}=`))) texts.add(word);
      const next = rest[index + 1];
      if (next && textFlags.includes(word.text)) texts.add(next);
    }
  // An unknown flag may take the pattern itself or a file of patterns, even after the first word, which is then a file.
  const isKnown = ({ text }: ShellWord) => !text.startsWith('-') || isPlainFlag(text, firstIsText ?? noFlags) || numberFlag.test(text);
  if (firstIsText && rest.every(isKnown)) {
    const first = rest.find(({ text }) => !isPlainFlag(text, firstIsText));
    if (first && !first.text.startsWith('-')) texts.add(first);
  }
  return texts;
}

/** Whether a word that looks like a flag may be the value of the flag before it, as `--regexp` is in `grep -ve --regexp file`. */
function isFlagValue(
  rest: ShellWord[],
  index: number,
  { texts, firstIsText }: { texts: Set<ShellWord>; firstIsText: Program['firstIsText'] },
): boolean {
  if (texts.has(rest[index] as ShellWord)) return true;
  const before = rest[index - 1];
  if (!firstIsText || !before?.text.startsWith('-') || texts.has(before)) return false;
  return !isPlainFlag(before.text, firstIsText) && !numberFlag.test(before.text) && !/^--[\w-]+=/.test(before.text);
}

const numberFlag = /^-[ABCm]?\d+$/;
const noFlags = { letters: '', long: [] };

function isPlainFlag(text: string, { letters, long }: NonNullable<Program['firstIsText']>): boolean {
  if (text.startsWith('--')) return long.includes(text.slice(2));
  return /^-./.test(text) && [...text.slice(1)].every((letter) => letters.includes(letter));
}
