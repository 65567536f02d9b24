// Spellings of path patterns. Rules are compared with paths in their plain form: `src/a.ts`, without `./`, `//`, `..` and a `/` at the end.
import { matchesWildcard } from './wildcard.ts';

/** The plain form of a pattern. `..` at the start stays; after a name with a wildcard it stays too, because the name is unknown. */
export function normalizePathPattern(pattern: string): string {
  const names: string[] = [];
  for (const name of pattern.split('/')) {
    if (name === '' || name === '.') continue;
    const before = names.at(-1);
    if (name !== '..' || before === undefined || before === '..' || /[*?]/.test(before)) names.push(name);
    else names.pop();
  }
  const plain = names.join('/');
  if (pattern.startsWith('/')) return `/${plain}`;
  return plain === '' ? '.' : plain;
}

/** Patterns for the paths in `folder`, relative to it, that an absolute pattern matches. */
export function patternsInFolder(pattern: string, folder: string): string[] {
  const found = new Set<string>();
  const start = folder.endsWith('/') ? folder : `${folder}/`;
  for (let at = 1; at < pattern.length; at++) {
    // The text of the folder ends at this place of the pattern, or within this `*`.
    const end = pattern[at] === '*' ? at + 1 : at;
    if (matchesWildcard(pattern.slice(0, end), start)) found.add(pattern.slice(at));
  }
  return [...found];
}
