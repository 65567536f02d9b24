// Makes text from elsewhere (file names, pages, other runs) safe for a tool result, and words for counts and sizes.
import { cleanText } from '../text/cut.ts';

/** Escapes control characters and line breaks of a name, which could otherwise look like further entries. */
export function escapeControls(name: string): string {
  return name
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Removes invisible characters like `cleanText`, but keeps joiners, which some scripts and emoji need: the kernel judges those later. */
export function cleanResultText(text: string): string {
  return text
    .split(/([\u200c\u200d])/)
    .map((part, index) => (index % 2 === 1 ? part : cleanText(part)))
    .join('');
}

/** Marks each line of text by another run or page, so that none of it can look like a line of ours. */
export function quoteLines(text: string): string {
  return cleanResultText(text)
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');
}

/** `1 file`, `2 files`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

export function describeClosedPaths(count: number, one: 'file' | 'entry'): string {
  return `[${formatCount(count, one, one === 'file' ? 'files' : 'entries')} left out: closed by a rule]`;
}

/** Arguments for zod's `refine`: the text has at most so many bytes of UTF-8. */
export function refineMaxBytes(bytes: number): [(text: string) => boolean, string] {
  return [(text) => Buffer.byteLength(text) <= bytes, `must be at most ${bytes} bytes`];
}
