// The files that the words of a command name, for rules about reading where no sandbox hides the files.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Subject } from '../../../ports/subject.ts';
import { findPossiblePaths, findTargets, type PathScope } from './command-paths.ts';
import type { ShellWord } from './read-word.ts';

/** Names that a pattern may be compared with. */
const maxEntries = 5_000;

/** None in a sandbox. A word that is unknown before the command runs may name any file that begins like it. */
export function findNamedFiles(words: readonly ShellWord[], texts: ReadonlySet<ShellWord>, scope: PathScope): Subject[] {
  if (scope.isConfined) return [];
  return words.filter((word) => !texts.has(word)).flatMap((word) => wordToSubjects(word, scope));
}

/** The files that patterns among the words match now. */
export function findMatchedFiles(words: readonly ShellWord[], scope: PathScope): string[] {
  return words.flatMap((word) => (/[*?[]/.test(word.mask) && word.text.length === word.mask.length ? (matchNames(word, scope) ?? []) : []));
}

function wordToSubjects(word: ShellWord, scope: PathScope): Subject[] {
  const paths = [...new Set([word.text, ...findPossiblePaths(word.text)])];
  const named = paths.filter((path) => path !== '' && path.length <= 4_096).flatMap((path) => findTargets(path, scope));
  const matched = /[*?[]/.test(word.mask) && word.text.length === word.mask.length ? matchNames(word, scope) : [];
  const isUnknown = matched === null || (!word.literal && word.unknownReason !== null && !/[*?[]/.test(word.mask));
  const files = [...new Set([...named, ...(matched ?? [])])].map((text): Subject => ({ text, alias: true, tool: 'read' }));
  return isUnknown ? [...files, { text: word.text, alias: true, tool: 'read', known: findLiteralStart(word) }] : files;
}

/** The beginning of a word before anything that bash expands. */
export function findLiteralStart({ text, bare, mask }: ShellWord): string {
  let at = 0;
  while (at < text.length && text[at] === bare[at] && !/[$`*?[{~]/.test(mask[at] ?? '$') && text[at] !== '$' && text[at] !== '`') at++;
  return text.slice(0, at);
}

/** The paths that a pattern matches now; null if there are too many names to compare. */
function matchNames({ text, mask }: ShellWord, scope: PathScope): string[] | null {
  const { bases, roots } = scope;
  const state = { left: maxEntries };
  const found: string[] = [];
  for (const base of bases) {
    let folders = [text.startsWith('/') ? '/' : base];
    let at = 0;
    for (const name of text.split('/')) {
      const part = mask.slice(at, at + name.length);
      at += name.length + 1;
      if (name === '' || name === '.') continue;
      const isPattern = /[*?[]/.test(part);
      const expression = isPattern ? toExpression(name, part) : null;
      folders = folders.flatMap((folder) =>
        expression === null ? [join(folder, name)] : matchEntries(folder, { expression, name, state }),
      );
      if (state.left < 0) return null;
    }
    found.push(...folders);
  }
  return found.flatMap((path) => findTargets(path, { ...scope, workspace: roots[0] as string }));
}

function matchEntries(
  folder: string,
  { expression, name, state }: { expression: RegExp; name: string; state: { left: number } },
): string[] {
  try {
    const entries = readdirSync(folder);
    state.left -= entries.length;
    return entries
      .filter((entry) => expression.test(entry) && (name.startsWith('.') || !entry.startsWith('.')))
      .map((entry) => join(folder, entry));
  } catch {
    return [];
  }
}

/** Brackets match any character: finding too many names is safer than too few. */
function toExpression(name: string, mask: string): RegExp {
  let source = '';
  for (let at = 0; at < name.length; at++) {
    const end = mask[at] === '[' ? mask.indexOf(']', at + 2) : -1;
    if (end !== -1) {
      source += '.';
      at = end;
    } else if (mask[at] === '*') source += '.*';
    else source += mask[at] === '?' ? '.' : (name[at] as string).replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');
  }
  return new RegExp(`^${source}$`, 's');
}
