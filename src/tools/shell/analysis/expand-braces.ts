// Brace expansion, for rules that deny.
import { denyCommand, writeSimpler } from './deny-command.ts';
import { createLiteralWord, type ShellWord } from './read-word.ts';

const maxWords = 1_000;
const maxDepth = 8;

/**
 * Expands braces: `git {push,-f}` becomes `git push -f`. Null if there are none. Quotes inside such a word are ignored: the result is only used
 * to deny, and an extra word can only deny more.
 */
export function expandBraces(words: ShellWord[]): ShellWord[] | null {
  if (!words.some(hasBraces)) return null;
  const expanded = words.flatMap((word) => (hasBraces(word) ? expandText(word.text).map(createExpandedWord) : [word]));
  if (expanded.length > maxWords) denyTooMany();
  return expanded.filter(({ text }) => text !== '');
}

function hasBraces({ mask }: ShellWord): boolean {
  return mask.includes('{') && mask.includes('}');
}

function createExpandedWord(text: string): ShellWord {
  return { ...createLiteralWord(text), mask: 'x' };
}

/** Expands the innermost braces first; their results may be part of outer braces. */
function expandText(text: string, depth = 0): string[] {
  let rest = text;
  for (;;) {
    const found = /\{([^{}]*)\}/.exec(rest);
    if (found === null) return [rest];
    const [all, inside = ''] = found;
    const before = rest.slice(0, found.index);
    const after = rest.slice(found.index + all.length);
    const parts = splitAlternatives(inside);
    if (parts.length > 1) {
      if (depth > maxDepth) denyTooMany();
      const expanded = parts.flatMap((part) => expandText(`${before}${part}${after}`, depth + 1));
      return expanded.length > maxWords ? denyTooMany() : expanded;
    }
    rest = `${before}${parts[0]}${after}`;
  }
}

function splitAlternatives(inside: string): string[] {
  const [, from, to] = /^([A-Za-z])\.\.([A-Za-z])(?:\.\.-?\d+)?$/.exec(inside) ?? [];
  return from === undefined ? inside.split(',') : letterRange(from, to as string);
}

function denyTooMany(): never {
  return denyCommand('has braces that expand to too many words', writeSimpler);
}

function letterRange(from: string, to: string): string[] {
  const [first, last] = [from.charCodeAt(0), to.charCodeAt(0)].sort((a, b) => a - b) as [number, number];
  return Array.from({ length: last - first + 1 }, (_, index) => String.fromCharCode(first + index));
}
