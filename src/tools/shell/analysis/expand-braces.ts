import { refuse } from './deny-command.ts';
import { literalWord, type Word } from './read-word.ts';

const maxWords = 1_000;
const maxDepth = 8;

/**
 * The words that braces make: `git {push,-f}` is `git push -f`. Null where there are none. Quotes inside such a word are not looked at; what is made
 * serves to deny, and a word too many can only deny more.
 */
export function expandBraces(words: Word[]): Word[] | null {
  if (!words.some(isBraced)) return null;
  const made = words.flatMap((word) => (isBraced(word) ? alternatives(word.text).map(madeWord) : [word]));
  if (made.length > maxWords) tooMany();
  return made.filter(({ text }) => text !== '');
}

function isBraced({ mask }: Word): boolean {
  return mask.includes('{') && mask.includes('}');
}

function madeWord(text: string): Word {
  return { ...literalWord(text), mask: 'x' };
}

/** The innermost braces come first; what they make may stand in others. */
function alternatives(text: string, depth = 0): string[] {
  let rest = text;
  for (;;) {
    const found = /\{([^{}]*)\}/.exec(rest);
    if (found === null) return [rest];
    const [all, inside = ''] = found;
    const before = rest.slice(0, found.index);
    const after = rest.slice(found.index + all.length);
    const parts = partsOf(inside);
    if (parts.length > 1) {
      if (depth > maxDepth) tooMany();
      const made = parts.flatMap((part) => alternatives(`${before}${part}${after}`, depth + 1));
      return made.length > maxWords ? tooMany() : made;
    }
    rest = `${before}${parts[0]}${after}`;
  }
}

function partsOf(inside: string): string[] {
  const [, from, to] = /^([A-Za-z])\.\.([A-Za-z])(?:\.\.-?\d+)?$/.exec(inside) ?? [];
  return from === undefined ? inside.split(',') : letters(from, to as string);
}

function tooMany(): never {
  return refuse('has braces that make too many words', 'write it as several simpler commands');
}

function letters(from: string, to: string): string[] {
  const [first, last] = [from.charCodeAt(0), to.charCodeAt(0)].sort((a, b) => a - b) as [number, number];
  return Array.from({ length: last - first + 1 }, (_, index) => String.fromCharCode(first + index));
}
