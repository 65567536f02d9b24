/**
 * Reads the outputs of the tools. Everything here may be cut, may hold notices of a tool or of the kernel, and may hold text that
 * somebody wrote to mislead: what does not have the expected form is left out.
 */

/** Lines that a tool adds about its own output: `[the first 1000 of 4000 entries]`. A name in brackets rarely has spaces. */
function isNotice(line: string): boolean {
  return line.startsWith('[') && line.endsWith(']') && line.includes(' ');
}

/** Notices that nothing is missing: there is nothing. */
function saysNothing(line: string): boolean {
  return /^\[no (file|line) matches|^\[.* is empty\]$/.test(line);
}

const leftOut = /^\[… \d+ of \d+ bytes left out …\]$/;

/** A search that ran out of time shows what it had found by then. */
export function ranOutOfTime(text: string): boolean {
  return text.slice(text.lastIndexOf('\n') + 1).startsWith('[stopped after a second');
}

/** The lines of an output. Where the kernel cut it in the middle, the halves of lines on both sides of the cut go. */
function linesOf(text: string): string[] {
  const lines = text.split('\n');
  const at = lines.findIndex((line) => leftOut.test(line));
  return at === -1 ? lines : [...lines.slice(0, Math.max(0, at - 1)), lines[at] ?? '', ...lines.slice(at + 2)];
}

/** Lines without notices, and whether a notice says that there is more. */
function split(text: string): { lines: string[]; cut: boolean } {
  const all = linesOf(text).filter((line) => line !== '');
  return { lines: all.filter((line) => !isNotice(line)), cut: all.some((line) => isNotice(line) && !saysNothing(line)) };
}

export interface Listing {
  folders: string[];
  files: { name: string; bytes: number }[];
  /** Links, devices and names that cannot be opened. */
  others: number;
  cut: boolean;
}

export function parseList(text: string): Listing {
  const { lines, cut } = split(text);
  const listing: Listing = { folders: [], files: [], others: 0, cut };
  for (const line of lines) {
    const file = /^(.+) \((\d{1,15}) bytes\)$/.exec(line);
    if (file) listing.files.push({ name: file[1] ?? '', bytes: Number(file[2]) });
    else if (/^[^/]+\/$/.test(line)) listing.folders.push(line.slice(0, -1));
    else listing.others++;
  }
  return listing;
}

export function parsePaths(text: string): { paths: string[]; cut: boolean } {
  const { lines, cut } = split(text);
  return { paths: lines.map(relative).filter((path) => path !== null), cut };
}

/** A path inside the workspace, or null. A folder (`src/`) is none of a file's. */
function relative(line: string): string | null {
  const path = line.replace(/^(\.\/)+/, '');
  if (path === '' || path.endsWith('/') || path.startsWith('/')) return null;
  return path.split('/').includes('..') ? null : path;
}

export interface Match {
  path: string;
  line: number;
  text: string;
}

const maxLine = 500;

/** `known` settles where a path ends that itself looks like `a:1:b`; a match in a file that is not known is left out. */
export function parseMatches(text: string, known: ReadonlySet<string>): { matches: Match[]; cut: boolean } {
  const matches: Match[] = [];
  let cut = false;
  for (const line of linesOf(text)) {
    const match = parseMatch(line, known);
    if (match !== null) matches.push(match);
    else if (isNotice(line) && !saysNothing(line)) cut = true;
  }
  return { matches, cut };
}

function parseMatch(line: string, known: ReadonlySet<string>): Match | null {
  for (const found of line.slice(0, 5000).matchAll(/:(\d{1,9}):/g)) {
    const path = relative(line.slice(0, found.index));
    if (path === null || !known.has(path)) continue;
    const start = found.index + found[0].length;
    return { path, line: Number(found[1]), text: line.slice(start, start + maxLine) };
  }
  return null;
}

/** The lines of a file from its first one on. */
export interface Slice {
  lines: string[];
  complete: boolean;
}

export function parseRead(text: string): Slice {
  const lines: string[] = [];
  let complete = true;
  for (const line of text.split('\n')) {
    const numbered = /^ *(\d+)\t(.*)$/s.exec(line);
    if (numbered && Number(numbered[1]) === lines.length + 1) lines.push(numbered[2] ?? '');
    else if (line !== '' && line !== '[empty file]') complete = false;
  }
  return { lines, complete };
}
