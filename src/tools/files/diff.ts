// Diffs of the changes that tools make.
import type { StructuredPatch } from 'diff';
import { formatCount } from '../text.ts';

const maxSide = 2 * 1024 * 1024;
const maxChars = 20_000;
const context = 3;
/** After this long the search for the shortest diff ends, and a coarse diff is used. */
const searchMs = 200;

type Hunk = StructuredPatch['hunks'][number];

/** `bytes` is the size of the whole diff, `text` at most 20,000 characters of it with a notice. Null if binary, too large or unchanged. */
export async function createDiff(
  path: string,
  before: Buffer | 'large' | null,
  after: Buffer,
): Promise<{ text: string; bytes: number } | null> {
  if (before === 'large' || [before, after].some((side) => side !== null && (side.length > maxSide || side.includes(0)))) return null;
  if (before?.equals(after)) return null;
  const { FILE_HEADERS_ONLY, formatPatch, structuredPatch } = await import('diff');
  const [old, now] = [before?.toString('utf8') ?? '', after.toString('utf8')];
  const names = [before === null ? '/dev/null' : `a/${path}`, `b/${path}`] as const;
  const found = structuredPatch(...names, old, now, undefined, undefined, { context, timeout: searchMs });
  const patch = found ?? {
    oldFileName: names[0],
    newFileName: names[1],
    oldHeader: undefined,
    newHeader: undefined,
    hunks: [coarseHunk(old, now)],
  };
  const text = formatPatch(patch, FILE_HEADERS_ONLY);
  return { text: cutDiff(text, maxChars), bytes: Buffer.byteLength(text) };
}

/** One hunk from the first line that differs to the last. */
function coarseHunk(before: string, after: string): Hunk {
  const [old, now] = [splitLines(before), splitLines(after)];
  const most = Math.min(old.length, now.length);
  let same = 0;
  while (same < most && old[same] === now[same]) same++;
  let end = 0;
  while (end < most - same && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  const from = Math.max(0, same - context);
  const left = Math.max(0, end - context);
  const marked = (sign: string, lines: string[]): string[] =>
    lines.flatMap((line) => (line.endsWith('\n') ? [sign + line.slice(0, -1)] : [sign + line, '\\ No newline at end of file']));
  return {
    oldStart: from + 1,
    oldLines: old.length - left - from,
    newStart: from + 1,
    newLines: now.length - left - from,
    lines: [
      ...marked(' ', old.slice(from, same)),
      ...marked('-', old.slice(same, old.length - end)),
      ...marked('+', now.slice(same, now.length - end)),
      ...marked(' ', old.slice(old.length - end, old.length - left)),
    ],
  };
}

/** Each line with its line break. */
function splitLines(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/);
}

/** Keeps whole lines up to so many characters, and a notice of how much is missing. */
export function cutDiff(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const kept = text.slice(0, text.lastIndexOf('\n', chars - 1) + 1);
  return `${kept}[diff cut: ${formatCount(text.length - kept.length, 'character')} of ${text.length} left out]\n`;
}
