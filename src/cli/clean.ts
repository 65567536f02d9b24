// What models, files and facts say is text for a reader, never orders to the terminal. Whole escape sequences are taken out so
// that coloured output stays readable; after that no character is left that could begin one, whatever the first step missed.

// Strings (DCS, SOS, OSC, PM, APC) with their payload, where they end on the same line. The payload excludes every character
// that could begin another sequence, so that the match is linear and an unterminated one hides nothing after it.
const strings = /(?:\x1b[P\]X^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x80-\x9f\n]*(?:\x07|\x1b\\|\x9c)/g;
const csi = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g;
const escapes = /\x1b[ -/]*[0-Z\\^-~]/g;

const c0 = /[\x00-\x08\x0b-\x1f\x7f]/g;
const c1 = /[\x80-\x9f]/g;
// Soft hyphen, bidirectional controls, zero-width characters, invisible operators, variation selectors, tags; and annotations.
const invisible = /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;

/** Text of several lines, safe to print: newlines and tabs stay, other controls become visible, the invisible goes. */
export function clean(text: string): string {
  if (/^[\n\t\x20-\x7e]*$/.test(text)) return text;
  return text
    .toWellFormed()
    .replace(strings, '')
    .replace(csi, '')
    .replace(escapes, '')
    .replace(/\r\n/g, '\n')
    .replace(/[\u2028\u2029]/g, '\n')
    .replace(c0, picture)
    .replace(c1, '\ufffd')
    .replace(invisible, '');
}

/** The same for a field that has one line: breaks and runs of blanks become one blank. */
export function cleanLine(text: string): string {
  return clean(text)
    .replace(/[\s\u0085]+/g, ' ')
    .trim();
}

/** JSON that is safe to print and reads back as the same value: what a terminal could act on is escaped. */
export function cleanJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(jsonUnsafe, escapeUnits);
}

const jsonUnsafe = new RegExp(`[\\x7f-\\x9f\\u2028\\u2029]|${invisible.source}`, 'gu');

function escapeUnits(character: string): string {
  let text = '';
  for (let i = 0; i < character.length; i++) text += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
  return text;
}

function picture(control: string): string {
  const code = control.charCodeAt(0);
  return code === 0x7f ? '\u2421' : String.fromCharCode(0x2400 + code);
}
