// Text of models, files and facts on its way to a terminal, where it must be content for a reader and never a command to the terminal.
//
// 1. Whole escape sequences are removed, so that coloured output stays readable.
// 2. Every other control or invisible character becomes a mark such as ⟦U+202E⟧ (invisible.ts), whatever the first step missed.
import { hidden, markInvisible, markInvisibleLine } from './invisible.ts';

// Strings (DCS, SOS, OSC, PM, APC) with their payload, where they end on the same line. The payload excludes every character
// that could begin another sequence, so that the match is linear and an unterminated one hides nothing after it.
const strings = /(?:\x1b[P\]X^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x80-\x9f\n]*(?:\x07|\x1b\\|\x9c)/g;
const csi = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g;
const escapes = /\x1b[ -/]*[0-Z\\^-~]/g;

const plain = /^[\n\t\x20-\x7e]*$/;

/** Text of several lines: newlines and tabs stay. */
export function sanitizeText(text: string): string {
  return plain.test(text) ? text : markInvisible(removeEscapeSequences(text));
}

/** Text for one line: line breaks and runs of blanks become one blank. */
export function sanitizeLine(text: string): string {
  return markInvisible(
    removeEscapeSequences(text)
      .replace(/[\s\u0085]+/g, ' ')
      .trim(),
  );
}

/** A path for one line. Every character of a name is shown, escape sequences as marks, so that no two names look the same. */
export function formatPath(path: string): string {
  return markInvisibleLine(path.toWellFormed());
}

/** JSON that is safe to print and parses to the same value: hidden characters are written as `\u` escapes. */
export function stringifySafely(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(hiddenCharacters, escapeUnits);
}

const hiddenCharacters = new RegExp(hidden, 'gu');

function removeEscapeSequences(text: string): string {
  return text.toWellFormed().replace(strings, '').replace(csi, '').replace(escapes, '');
}

function escapeUnits(character: string): string {
  let text = '';
  for (let i = 0; i < character.length; i++) text += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
  return text;
}
