// Widths in terminal columns. Texts are sanitized already.

/** Wide characters count two, combining marks none. Never less than a terminal uses. */
export function textWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let columns = 0;
  for (const character of text) columns += columnsOf(character);
  return columns;
}

/** Cuts one line to the given width; an ellipsis takes the last column. */
export function cutToWidth(text: string, columns: number): string {
  if (columns <= 0) return '';
  if (textWidth(text) <= columns) return text;
  let length = 0;
  let used = 0;
  for (const character of text) {
    used += columnsOf(character);
    if (used > columns - 1) break;
    length += character.length;
  }
  return `${text.slice(0, length)}…`;
}

export function padToWidth(text: string, columns: number, side: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, columns - textWidth(text)));
  return side === 'left' ? text + space : space + text;
}

/** Wide characters that are no emoji, from the East Asian Width of Unicode 17. Unassigned ones between them count as wide, too. */
const wide: [from: number, to: number][] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2630, 0x2637],
  [0x268a, 0x268f],
  [0x2e80, 0x303e],
  [0x3041, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x1b2ff],
  [0x1d300, 0x1d376],
  [0x1f000, 0x1f02f],
  [0x1f18e, 0x1f265],
  [0x1f300, 0x1f64f],
  [0x1f680, 0x1f6ff],
  [0x1f7d8, 0x1f7ff],
  [0x1f900, 0x1faff],
  [0x20000, 0x3fffd],
];

const emojiSelector = 0xfe0f;
const joiners = [0x200c, 0x200d];
/** Spell flags of regions after a black flag. */
const firstTag = 0xe0020;
const lastTag = 0xe007f;

/** Of one code point. Terminals disagree about sequences of several, so their parts are added up: a line is rather too narrow than too wide. */
function columnsOf(character: string): number {
  const code = character.codePointAt(0) as number;
  if (code < 0x300) return 1;
  // After a character of one column it makes an emoji of two.
  if (code === emojiSelector) return 1;
  if (/^[\p{Mn}\p{Me}]$/u.test(character) || joiners.includes(code) || (code >= firstTag && code <= lastTag)) return 0;
  return /^\p{Emoji_Presentation}$/u.test(character) || wide.some(([from, to]) => code >= from && code <= to) ? 2 : 1;
}
