import { lstat } from 'node:fs/promises';
import { entry, openDir, openReal, split } from '../files/confine.ts';
import { contentOf } from '../files/file-version.ts';
import type { Match } from './parse-matches.ts';

/**
 * What ripgrep has found, held against the workspace once more. It goes by path, so a directory that is swapped for a link while it walks
 * can lead it out; here every name is opened without following links, and what is not found again in that way is not shown.
 */

/** Of real paths, those that are plain files of the workspace. */
export async function present(root: string, paths: string[]): Promise<Set<string>> {
  const kept = new Set<string>();
  for (const [parent, inside] of byKey(paths, (path) => split(path).parent)) {
    const opened = await openDir(root, parent, { create: false });
    if (!opened.ok) continue;
    await using _ = opened.dir.handle;
    for (const path of inside) {
      const stats = await lstat(entry(opened.dir, split(path).name ?? '')).catch(() => null);
      // A name that is not UTF-8 cannot be asked for; it lies in a directory that could be opened.
      if (stats?.isFile() || path.includes('\ufffd')) kept.add(path);
    }
  }
  return kept;
}

/** More than this is not read a second time in all; matches beyond it are not shown. */
const maxRead = 64 * 1024 * 1024;

/** Of matches in the order of their paths, those whose line is in the file as it was told. */
export async function confirmed(root: string, matches: Match[], maxFile: number): Promise<Match[]> {
  const kept: Match[] = [];
  let read = 0;
  for (const [path, inside] of byKey(matches, (match) => match.path)) {
    if (read > maxRead) break;
    const opened = await openReal(root, path);
    if (!opened.ok) continue;
    await using file = opened.file;
    const content = await contentOf(file, maxFile).catch(() => null);
    if (content === null) continue;
    read += content.length;
    const lines = linesOf(content, new Set(inside.map(({ line }) => line)));
    kept.push(...inside.filter(({ line, text }) => isSame(lines.get(line), text)));
  }
  return kept;
}

function byKey<T>(items: T[], keyOf: (item: T) => string): Map<string, T[]> {
  return Map.groupBy(items, keyOf);
}

const newline = 10;

/** As ripgrep sees them: UTF-16 with a mark is read as such. */
function linesOf(content: Buffer, wanted: Set<number>): Map<number, string> {
  const mark = content.length < 2 ? 0 : content.readUInt16BE(0);
  const bytes =
    mark === 0xfffe || mark === 0xfeff ? Buffer.from(new TextDecoder(mark === 0xfffe ? 'utf-16le' : 'utf-16be').decode(content)) : content;
  const found = new Map<number, string>();
  for (let start = 0, line = 1; start < bytes.length && found.size < wanted.size; line++) {
    const next = bytes.indexOf(newline, start);
    const end = next === -1 ? bytes.length : next;
    if (wanted.has(line)) found.set(line, bytes.toString('utf8', start, end));
    start = end + 1;
  }
  return found;
}

const cutMark = / \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]$/;

function isSame(line: string | undefined, told: string): boolean {
  if (line === undefined) return false;
  const plain = (text: string) =>
    text
      .replace(/^\ufeff/, '')
      .replace(/\r$/, '')
      .replaceAll('\0', '\ufffd');
  return plain(line) === plain(told) || (cutMark.test(told) && plain(line).startsWith(plain(told.replace(cutMark, ''))));
}
