// Makes invisible characters visible: control characters, bidirectional controls, zero-width characters, tags and selectors become marks such as
// ⟦U+202E⟧, so that models and people see hidden text. Joiners and selectors that letters and emoji need are kept.
//
// 1. The result contains no control characters except tab and newline, and no invisible characters except needed joiners and selectors.
// 2. Marking a marked text changes nothing.
// 3. Time is proportional to the length of the text, and a long sequence of invisible characters becomes a short text.

import type { Json } from '../contract/json.ts';

/** Scripts whose letters change their shape with joiners. */
const joiningScripts =
  'Arabic Syriac Mandaic Nko Mongolian Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Myanmar Tibetan Balinese Javanese';
const letter = `[${joiningScripts
  .split(' ')
  .map((script) => `\\p{Script=${script}}`)
  .join('')}]`;
const pictograph = '\\p{Extended_Pictographic}';

/** Kept: a joiner between letters or pictographs, one selector after a character that has variants, and flags spelt with tags. */
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
const anyHidden = new RegExp(hidden, 'u');
const anyVisible = new RegExp(`[^\\s${hidden.slice(1)}`, 'u');
/** A mark that the text has already, or a character to be marked. */
const token = new RegExp(`⟦U\\+[0-9A-F]{4,6}⟧|${hidden}`, 'gu');
/** The only characters that `kept` begins with. */
const maybeKept = /^(?:\u200c|\u200d|[\ufe00-\ufe0f]|[\u180b-\u180d\u180f]|[\u{e0000}-\u{e007f}])/u;
const mongolianSelector = /[\u180b-\u180d\u180f]/;
const keptHere = new RegExp(kept, 'yu');

/** In a longer sequence of invisible characters, only this many get their own mark. */
const maxMarks = 12;

/** Whether a text shows anything. */
export function isVisible(text: string): boolean {
  return anyVisible.test(text);
}

/** Token by token: one expression for a whole sequence would need a stack as long as the sequence. */
export function markInvisible(text: string): string {
  const plain = text.toWellFormed().replace(/\r\n/g, '\n');
  if (!anyHidden.test(plain)) return plain;
  const parts: string[] = [];
  /** Everything before it is in `parts`. */
  let copied = 0;
  let marks = 0;
  const endSequence = () => {
    if (marks > maxMarks) parts.push(`⟦${marks - maxMarks} more invisible characters⟧`);
    marks = 0;
  };
  token.lastIndex = 0;
  for (let match = token.exec(plain); match !== null; match = token.exec(plain)) {
    const { 0: found, index } = match;
    const keptEnd = maybeKept.test(found) ? findKeptEnd(plain, index) : null;
    if (keptEnd !== null) {
      token.lastIndex = keptEnd;
      continue;
    }
    if (index !== copied || marks === 0) {
      endSequence();
      parts.push(plain.slice(copied, index));
    }
    marks++;
    if (marks <= maxMarks) parts.push(found.startsWith('⟦') ? found : mark(found));
    copied = index + found.length;
    // Only a Mongolian selector is kept after itself; repetitions of others need no look.
    const isRepeated = marks > maxMarks && !mongolianSelector.test(found);
    for (; isRepeated && plain.startsWith(found, copied); copied += found.length) marks++;
    token.lastIndex = copied;
  }
  endSequence();
  return `${parts.join('')}${plain.slice(copied)}`;
}

/** Where the kept characters end that begin here; null if there are none. */
function findKeptEnd(text: string, index: number): number | null {
  keptHere.lastIndex = index;
  return keptHere.test(text) ? keptHere.lastIndex : null;
}

/** For a single line of output: tabs and line breaks are marked too, so that the text cannot fake another line. */
export function markInvisibleLine(text: string): string {
  return markInvisible(markCarriageReturns(text)).replace(/[\n\t]/g, mark);
}

/**
 * The complete arguments of a call, for the person who approves it. Carriage returns are marked as well. A single string argument, such as a
 * command, is shown as plain text; everything else as JSON.
 */
export function formatArguments(args: Json): string {
  const values = typeof args === 'object' && args !== null && !Array.isArray(args) ? Object.values(args) : [];
  const [only] = values;
  return markInvisible(values.length === 1 && typeof only === 'string' ? markCarriageReturns(only) : JSON.stringify(args, null, 2));
}

/**
 * The complete arguments of a call one by one, for screens that keep names and values apart. Strings are plain text, everything else is JSON.
 * Arguments that are no object have one entry without a name.
 */
export function listArguments(args: Json): { name: string; text: string }[] {
  const toText = (value: Json) => markInvisible(typeof value === 'string' ? markCarriageReturns(value) : JSON.stringify(value, null, 2));
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return [{ name: '', text: toText(args) }];
  return Object.entries(args).map(([name, value]) => ({ name: markInvisibleLine(name), text: toText(value as Json) }));
}

/** Marks the carriage returns before newlines, which `markInvisible` would normalise away. */
function markCarriageReturns(text: string): string {
  return text.replace(/\r(?=\n)/g, mark);
}

function mark(found: string): string {
  return `⟦U+${(found.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}⟧`;
}

function tags(text: string): string {
  return [...text].map((char) => `\\u{${(0xe0000 + char.charCodeAt(0)).toString(16)}}`).join('');
}
