// Translates globs for ripgrep.
import { createToolRefusal, type Refusal } from '../refusal.ts';

const maxNesting = 50;
const nameChar = '[^/]';

/**
 * Translates a glob to a regular expression for ripgrep, whose engine is linear in the text for any expression. `**` means any directories only if it
 * is a whole part of the path; elsewhere several stars mean `*`.
 */
export function globToRegex(glob: string): { ok: true; regex: string } | Refusal {
  let regex = '';
  let depth = 0;
  for (let at = 0; at < glob.length; ) {
    const char = glob[at] as string;
    if (char === '*') {
      const stars = translateStars(glob, at, depth);
      regex += stars.regex;
      at = stars.next;
    } else if (char === '[') {
      const found = translateClass(glob, at);
      if (!found.ok) return found;
      regex += found.regex;
      at = found.next;
    } else if (char === '\\' && at + 1 < glob.length) {
      const literal = String.fromCodePoint(glob.codePointAt(at + 1) as number);
      regex += escapeRegex(literal);
      at += 1 + literal.length;
    } else {
      if (char === '{' && ++depth > maxNesting) return createToolRefusal(`pattern: braces are nested more than ${maxNesting} deep`);
      const ends = char === '}' && depth > 0;
      regex += translateCharacter(char, depth);
      if (ends) depth--;
      at++;
    }
  }
  return depth > 0 ? createToolRefusal('pattern: a { is not closed; write \\{ to mean the character') : { ok: true, regex };
}

function translateCharacter(char: string, depth: number): string {
  if (char === '?') return nameChar;
  if (char === '{') return '(?:';
  if (char === '}' && depth > 0) return ')';
  return char === ',' && depth > 0 ? '|' : escapeRegex(char);
}

/** Stars from `at` on, including the slash after them if they mean directories. */
function translateStars(glob: string, at: number, depth: number): { regex: string; next: number } {
  let next = at;
  while (glob[next] === '*') next++;
  const bounds = depth > 0 ? '/{},' : '/';
  const isWhole = [glob[at - 1] ?? '/', glob[next] ?? '/'].every((char) => bounds.includes(char));
  if (next - at !== 2 || !isWhole) return { regex: `${nameChar}*`, next };
  if (glob[next] !== '/') return { regex: `(?:${nameChar}+/)*${nameChar}+`, next };
  while (glob.startsWith('/**/', next)) next += 3;
  return { regex: `(?:${nameChar}+/)*`, next: next + 1 };
}

type Class = { ok: true; regex: string; next: number } | Refusal;

/** `[a-z]`, `[!a]`, `[]x]`. A class never matches a slash. */
function translateClass(glob: string, at: number): Class {
  const found = /^\[([!^]?)((?:\]|\\.|[^\]\\])(?:\\.|[^\]\\])*)\]/su.exec(glob.slice(at));
  if (found === null) return createToolRefusal('pattern: a [ is not closed; write \\[ to mean the character');
  const [whole, not, inside] = found as unknown as [string, string, string];
  const chars = [...inside.matchAll(/\\(.)|(.)/gsu)].map(([, escaped, plain]) => ({
    char: (escaped ?? plain) as string,
    dash: plain === '-',
  }));
  let regex = '';
  for (let index = 0; index < chars.length; index++) {
    const from = chars[index]?.char as string;
    const to = chars[index + 1]?.dash ? chars[index + 2]?.char : undefined;
    if (to !== undefined && (to.codePointAt(0) as number) < (from.codePointAt(0) as number)) {
      return createToolRefusal(`pattern: the range ${from}-${to} is reversed`);
    }
    regex += to === undefined ? escapeRegex(from) : `${escapeRegex(from)}-${escapeRegex(to)}`;
    if (to !== undefined) index += 2;
  }
  return { ok: true, regex: not === '' ? `[${regex}]` : `[^/${regex}]`, next: at + whole.length };
}

function escapeRegex(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}#&~\-/\s]/g, (char) => (char === '/' ? char : `\\x{${char.charCodeAt(0).toString(16)}}`));
}
