// Checks what ripgrep has found against the workspace again. ripgrep works with paths, so a directory that is swapped for a link during its walk can lead it
// out of the workspace. Here every name is opened without following links, and results that are not found again are dropped.
import { lstat } from 'node:fs/promises';
import { entryPath, openDirectory, openRealPath, splitParent } from '../files/confine.ts';
import { readWhole } from '../files/read-file.ts';
import type { Match } from './parse-matches.ts';

/** The real paths that are plain files of the workspace. */
export async function filterFiles(root: string, paths: string[]): Promise<Set<string>> {
  const kept = new Set<string>();
  for (const [parent, inside] of Map.groupBy(paths, (path) => splitParent(path).parent)) {
    const opened = await openDirectory(root, parent, { create: false });
    if (!opened.ok) continue;
    await using _ = opened.dir.handle;
    for (const path of inside) {
      const stats = await lstat(entryPath(opened.dir, splitParent(path).name ?? '')).catch(() => null);
      // A name that is not UTF-8 cannot be looked up; its directory could be opened, which is enough.
      if (stats?.isFile() || path.includes('\ufffd')) kept.add(path);
    }
  }
  return kept;
}

/** Total bytes that are read again; matches beyond are dropped. */
const maxRead = 64 * 1024 * 1024;

/** The matches whose line is still in the file as ripgrep reported it. `matches` must be sorted by path. */
export async function filterMatches(root: string, matches: Match[], maxFile: number): Promise<Match[]> {
  const kept: Match[] = [];
  let read = 0;
  for (const [path, inside] of Map.groupBy(matches, (match) => match.path)) {
    if (read > maxRead) break;
    const opened = await openRealPath(root, path);
    if (!opened.ok) continue;
    await using file = opened.file;
    const content = await readWhole(file, maxFile).catch(() => null);
    if (content === null) continue;
    read += content.length;
    const lines = readLineNumbers(content, new Set(inside.map(({ line }) => line)));
    kept.push(...inside.filter(({ line, text }) => isSameLine(lines.get(line), text)));
  }
  return kept;
}

const newline = 10;

/** The wanted lines as ripgrep reads them: a file with a UTF-16 byte order mark is decoded. */
function readLineNumbers(content: Buffer, wanted: Set<number>): Map<number, string> {
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

function isSameLine(line: string | undefined, reported: string): boolean {
  if (line === undefined) return false;
  const plain = (text: string) =>
    text
      .replace(/^\ufeff/, '')
      .replace(/\r$/, '')
      .replaceAll('\0', '\ufffd');
  return plain(line) === plain(reported) || (cutMark.test(reported) && plain(line).startsWith(plain(reported.replace(cutMark, ''))));
}
