import type { FolderData } from './data.ts';
import { type Found, topOf } from './found.ts';
import { isGenerated, languageOf } from './languages.ts';
import { canStart, entryByName, startIn } from './marks.ts';
import { byName } from './text.ts';

/** The files that stand out: worth opening, and worth naming in a report. */

/** Where programs begin: by what stands in a file before what it is called. */
export function startsOf(folder: string | null, files: string[], found: Found): FolderData['entries'] {
  const reasons = new Map<string, string>();
  for (const { path, line, text } of found.lines.starts) {
    const why = topOf(path) === (folder ?? '') && canStart(path) && (line === 1 || !text.startsWith('#!')) ? startIn(text) : null;
    if (why !== null && !reasons.has(path)) reasons.set(path, why);
  }
  const named = files.flatMap((path) => {
    const why = reasons.has(path) ? null : entryByName(path, folder);
    return why === null ? [] : [{ path, why }];
  });
  const depth = (path: string): number => path.split('/').length;
  return [...Array.from(reasons, ([path, why]) => ({ path, why })), ...named].sort(
    (a, b) => depth(a.path) - depth(b.path) || byName(a.path, b.path),
  );
}

export function largestOf(files: string[], sizes: ReadonlyMap<string, number>): { path: string; bytes: number }[] {
  return files
    .filter((path) => languageOf(path) !== null && !isGenerated(path))
    .flatMap((path) => ({ path, bytes: sizes.get(path) ?? 0 }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes || byName(a.path, b.path));
}
