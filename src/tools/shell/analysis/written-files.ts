// Commands that write the files that their words name: which ones, and whether they may reach what is protected.
import { basename } from 'node:path';
import { isProtected, isUnder, protectedAliases } from '../../files/paths.ts';
import { type Places, targets } from './command-paths.ts';
import { type Verb, writingOf } from './programs/program.ts';
import type { Word } from './read-word.ts';

interface Where {
  workspace: string;
  places: Places;
}

/** With several operands the last may be a folder: then files of their names are made in it. */
export function writtenBy(words: Word[], verb: Verb): string[] {
  const writing = writingOf(words, verb);
  if (writing === null) return [];
  const paths = writing.paths.map(({ text }) => text);
  if (writing.which === 'all') return paths;
  const last = paths.at(-1);
  return last === undefined ? [] : [last, ...paths.slice(0, -1).map((path) => `${last}/${basename(path)}`)];
}

export function writingHazard(words: Word[], verb: Verb, { workspace, places }: Where): string | null {
  const writing = writingOf(words, verb);
  if (writing === null) return null;
  const found = writing.paths.find(({ literal, text }) => !literal && !/^(\.\/)?[^*?[./][^*?[/]*\//.test(text) && !/^[<>]\(/.test(text));
  if (found) return `nobody knows what \`${found.text}\` finds`;
  const sources = writing.which === 'last' ? writing.paths.slice(0, -1) : [];
  const last = writing.paths.at(-1)?.text ?? '';
  const isTop = writing.which === 'last' && targets(last, workspace, places).includes('.');
  if (isTop) {
    // The names of what is copied to the top decide whether the user's programs obey it.
    const open = sources.find(({ literal, text }) => !literal || /^\.*$/.test(basename(text)));
    const tree = words.find(({ text }) => /^-[a-zA-Z]*[rRa]|^--(rec|arc)/.test(text));
    if (tree) return 'it copies a tree over the workspace';
    if (open) return `nobody knows what \`${open.text}\` puts in the place of what is protected`;
  }
  const all = [...sources.map(({ text }) => text), ...writtenBy(words, verb)];
  for (const path of isTop ? all.filter((each) => each !== last) : all) {
    for (const each of targets(path, workspace, places)) if (isProtected(each) || holdsProtected(each)) return `\`${path}\` is protected`;
  }
  return null;
}

/** A folder above something protected: who writes, moves or removes it does so to all that is in it. */
function holdsProtected(path: string): boolean {
  return path === '.' || protectedAliases.some((each) => isUnder(each, path));
}
