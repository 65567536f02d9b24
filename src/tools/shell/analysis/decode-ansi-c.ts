// Decodes `$'…'` strings.
import { denyCommand } from './deny-command.ts';

const simple: Record<string, string> = { a: '\x07', b: '\b', e: '\x1b', E: '\x1b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };
const escapes = /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|([\s\S]))/g;

/** Decodes the inside of `$'…'` as bash does. Denies bytes outside ASCII, and NUL, which would end the word. */
export function decodeAnsiC(inside: string): string {
  return inside.replace(escapes, (_, hex, short, long, octal, control, other) => {
    if (control !== undefined) return denyCommand("has a control character in $'…'", 'write the text plainly');
    const digits = hex ?? short ?? long;
    if (digits !== undefined) return character(Number.parseInt(digits, 16), hex !== undefined);
    if (octal !== undefined) return character(Number.parseInt(octal, 8), true);
    // Only some versions of bash understand `\x{…}`.
    if ('xuU'.includes(other)) return denyCommand("has an escape in $'…' that cannot be analysed", 'write the text plainly');
    return simple[other] ?? ('\\\'"?'.includes(other) ? other : `\\${other}`);
  });
}

function character(code: number, isByte: boolean): string {
  if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || (isByte && code > 0x7f)) {
    denyCommand("has a byte in $'…' that cannot be analysed", 'write the text plainly');
  }
  return String.fromCodePoint(code);
}
