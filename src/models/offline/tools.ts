// The four tools of a survey: how they are called, and how their outputs are read. An output may be cut, may contain notices such as
// `[the first 1000 of 4000 files]`, and may contain text that was written to mislead: lines of any other form are ignored.
import type { Call, Result } from './conversation.ts';

export function createListCall(path: string): Call {
  return { tool: 'list', input: { path } };
}

/** Every file below a folder; `.` means the files at the top of the workspace and nothing below them. */
export function createGlobCall(folder: string): Call {
  return { tool: 'glob', input: { pattern: folder === '.' ? '*' : '**/*', path: folder } };
}

/** With `direct`, only the files directly in the folder. */
export function createGrepCall(pattern: string, folder: string, { direct = false } = {}): Call {
  return { tool: 'grep', input: { pattern, path: folder, ...(direct && { glob: '/*' }) } };
}

export function createReadCall(path: string, limit: number): Call {
  return { tool: 'read', input: { path, limit } };
}

/** A bracketed line that a tool adds about its own output. Names in brackets rarely contain spaces. */
function isNotice(line: string): boolean {
  return line.startsWith('[') && line.endsWith(']') && line.includes(' ');
}

/** A notice that something is missing. `[no file matches x]` and `[src is empty]` say that nothing was found and nothing is missing. */
function isGapNotice(line: string): boolean {
  return isNotice(line) && !/^\[no (file|line)|^\[.* is empty\]$/.test(line);
}

/** A search that runs out of time shows what it had found by then. */
export function hasTimedOut({ text }: Result): boolean {
  return text.slice(text.lastIndexOf('\n') + 1).startsWith('[stopped after');
}

/** The lines of an output. Where it was cut in the middle, the two half lines beside the cut are dropped. */
function splitOutput(text: string): string[] {
  const lines = text.split('\n');
  const cut = lines.findIndex((line) => /^\[… .* …\]$/.test(line));
  return cut === -1 ? lines : [...lines.slice(0, Math.max(0, cut - 1)), lines[cut] ?? '', ...lines.slice(cut + 2)];
}

export interface Listing {
  folders: string[];
  files: { name: string; bytes: number }[];
  /** Links, devices and names that cannot be opened. */
  others: number;
  complete: boolean;
}

export function parseListing(result: Result | null): Listing {
  const listing: Listing = { folders: [], files: [], others: 0, complete: result?.ok === true };
  for (const line of result?.ok ? splitOutput(result.text) : []) {
    const file = /^(.+) \((\d{1,15}) bytes\)$/.exec(line);
    if (isGapNotice(line)) listing.complete = false;
    else if (file) listing.files.push({ name: file[1] ?? '', bytes: Number(file[2]) });
    else if (/^[^/]+\/$/.test(line)) listing.folders.push(line.slice(0, -1));
    else if (line !== '' && !isNotice(line)) listing.others++;
  }
  return listing;
}

export function parsePaths(result: Result | null): { paths: string[]; complete: boolean } {
  const lines = result?.ok ? splitOutput(result.text) : [];
  return { paths: lines.filter((line) => line !== '' && !isNotice(line)), complete: result?.ok === true && !lines.some(isGapNotice) };
}

export interface SurveyMatch {
  path: string;
  line: number;
  text: string;
}

const maxMatchChars = 500;

/** `known` are the files of the survey: it tells where a path such as `a:1:b` ends, and matches in other files are dropped. */
export function parseMatches(result: Result | null, known: ReadonlySet<string>): { matches: SurveyMatch[]; complete: boolean } {
  const lines = result?.ok ? splitOutput(result.text) : [];
  const parsed = lines.map((line) => ({ line, match: parseMatch(line, known) }));
  const complete = result?.ok === true && !parsed.some(({ line, match }) => match === null && isGapNotice(line));
  return { matches: parsed.flatMap(({ match }) => match ?? []), complete };
}

function parseMatch(line: string, known: ReadonlySet<string>): SurveyMatch | null {
  for (const found of line.slice(0, 5000).matchAll(/:(\d{1,9}):/g)) {
    const path = line.slice(0, found.index);
    if (!known.has(path)) continue;
    const start = found.index + found[0].length;
    return { path, line: Number(found[1]), text: line.slice(start, start + maxMatchChars) };
  }
  return null;
}

/** The first lines of a file; `complete` if they are all of it. */
export function parseRead(result: Result | null): { lines: string[]; complete: boolean } {
  const lines: string[] = [];
  let complete = result?.ok === true;
  for (const line of result?.ok ? result.text.split('\n') : []) {
    const numbered = /^ *(\d+)\t(.*)$/s.exec(line);
    if (numbered && Number(numbered[1]) === lines.length + 1) lines.push(numbered[2] ?? '');
    else if (line !== '' && line !== '[empty file]') complete = false;
  }
  return { lines, complete };
}
