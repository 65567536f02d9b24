// What a reader cannot see, made visible: control characters, bidirectional controls, zero-width characters, tags, selectors. Each stands as a
// mark such as ⟦U+202E⟧, so that hidden text is neither obeyed nor lost. Joiners and selectors that letters and emoji need stay as they are.
//
// 1. The result has no control character but tab and newline, and nothing invisible but joiners and selectors in their place.
// 2. Doing it twice is the same as doing it once.
// 3. It takes time in proportion to the text, and makes of a long run of such characters a few words.

import type { Json } from '../contract/json.ts';

/** Scripts whose letters change their form by joiners. */
const joining =
  'Arabic Syriac Mandaic Nko Mongolian Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar Tibetan Balinese Javanese';
const letter = `[${joining
  .split(' ')
  .map((script) => `\\p{Script=${script}}`)
  .join('')}]`;
const pictograph = '\\p{Extended_Pictographic}';

/** What stays: a joiner between letters or pictographs, one selector behind what has variants, and the flags that are spelt with tags. */
const kept = [
  `(?<=${letter})[\\u200c\\u200d](?=${letter})`,
  `(?<=${pictograph}\\ufe0f?|\\p{Emoji_Modifier})\\u200d(?=${pictograph})`,
  `(?<=${pictograph}|[#*0-9](?=\\ufe0f\\u20e3))[\\ufe0e\\ufe0f]`,
  '(?<=[\\p{Script=Han}\\p{Sm}])[\\ufe00-\\ufe0f](?![\\ufe00-\\ufe0f])',
  '(?<=\\p{Script=Mongolian})[\\u180b-\\u180d\\u180f]',
  ...['gbeng', 'gbsct', 'gbwls'].map((flag) => `(?<=\\u{1f3f4})${tags(flag)}\\u{e007f}`),
].join('|');

/** A class of a regular expression: control characters but tab and newline, and whatever shows nothing. */
export const hidden = '[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ufff9-\\ufffb\\p{Default_Ignorable_Code_Point}]';
const pattern = new RegExp(`(${kept})|${hidden}`, 'gu');
const any = new RegExp(hidden, 'u');

/** Of a run of such characters, so many are named. */
const named = 12;

export function markInvisible(text: string): string {
  const plain = text.toWellFormed().replace(/\r\n/g, '\n');
  if (!any.test(plain)) return plain;
  const marked = plain.replace(pattern, (found, keep) => (keep === undefined ? mark(found) : found));
  return marked.replace(longRun, (run) => {
    const marks = run.split(/(?<=⟧)/);
    return `${marks.slice(0, named).join('')}⟦${marks.length - named} more invisible characters⟧`;
  });
}

/** For a field that has one line: tabs and breaks are marks too, so that no text can pass for a line of ours. */
export function markInvisibleLine(text: string): string {
  return markInvisible(unbroken(text)).replace(/[\n\t]/g, mark);
}

/**
 * The arguments of a call for whoever must judge it: nothing of them is left out, and a carriage return is seen wherever it stands. A lone text,
 * such as a command, stands as it is; all else is JSON.
 */
export function formatArguments(args: Json): string {
  const values = typeof args === 'object' && args !== null && !Array.isArray(args) ? Object.values(args) : [];
  const [lone] = values;
  return markInvisible(values.length === 1 && typeof lone === 'string' ? unbroken(lone) : JSON.stringify(args, null, 2));
}

function unbroken(text: string): string {
  return text.replace(/\r(?=\n)/g, mark);
}

const longRun = new RegExp(`(?:⟦U\\+[0-9A-F]{4,6}⟧){${named + 1},}`, 'g');

function mark(found: string): string {
  return `⟦U+${(found.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}⟧`;
}

function tags(text: string): string {
  return [...text].map((char) => `\\u{${(0xe0000 + char.charCodeAt(0)).toString(16)}}`).join('');
}
