import type { Verb } from './programs/program.ts';
import type { Word } from './read-word.ts';

/** Whether the table of a program calls this flag hostile: alone, abbreviated, in a cluster or with its value. */
export function isHostile({ text }: Word, { short = '', values = '', long = [], words = [], anyDashes = false }: Verb): boolean {
  if (words.includes(text)) return true;
  if (anyDashes ? /^-+[^-]/.test(text) : /^--+[^-]/.test(text)) {
    const name = text.replace(/^-+/, '').split('=', 1)[0] as string;
    if (name.length > (text.startsWith('--') ? 0 : 1) && long.some((each) => each.startsWith(name))) return true;
  }
  if (!/^-[^-]/.test(text)) return false;
  for (const letter of text.slice(1)) {
    if (short.includes(letter)) return true;
    if (values.includes(letter)) return false;
  }
  return false;
}

/** The words that their program takes for text. */
export function textsOf(rest: Word[], { textAfter, textFlags = [], textFor }: Verb): Set<Word> {
  const texts = new Set<Word>();
  const isFor = textFor === undefined || textFor.includes(rest[0]?.text ?? '');
  if (isFor)
    for (const [index, word] of rest.entries()) {
      if (word.text === '--') break;
      if (isValue(rest, index, { texts, textAfter })) continue;
      if (textFlags.some((flag) => word.text.startsWith(`${flag}=`))) texts.add(word);
      const next = rest[index + 1];
      if (next && textFlags.includes(word.text)) texts.add(next);
    }
  // A flag that takes the pattern or its file makes the first word a file, also from behind it.
  const isKnown = ({ text }: Word) => !text.startsWith('-') || isPlainFlag(text, textAfter ?? none) || /^-[ABCm]?\d+$/.test(text);
  if (textAfter && rest.every(isKnown)) {
    const first = rest.find(({ text }) => !isPlainFlag(text, textAfter));
    if (first && !first.text.startsWith('-')) texts.add(first);
  }
  return texts;
}

/** Whether what looks like a flag may be the value of the flag before it, as `--regexp` is in `grep -ve --regexp file`. */
function isValue(rest: Word[], index: number, { texts, textAfter }: { texts: Set<Word>; textAfter: Verb['textAfter'] }): boolean {
  if (texts.has(rest[index] as Word)) return true;
  const before = rest[index - 1];
  if (!textAfter || !before?.text.startsWith('-') || texts.has(before)) return false;
  return !isPlainFlag(before.text, textAfter) && !/^-[ABCm]?\d+$|^--[\w-]+=/.test(before.text);
}

const none = { letters: '', long: [] };

function isPlainFlag(text: string, { letters, long }: NonNullable<Verb['textAfter']>): boolean {
  if (text.startsWith('--')) return long.includes(text.slice(2));
  return /^-./.test(text) && [...text.slice(1)].every((letter) => letters.includes(letter));
}
