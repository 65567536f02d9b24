import { refuse } from './deny-command.ts';

const simple: Record<string, string> = { a: '\x07', b: '\b', e: '\x1b', E: '\x1b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };
const escapes = /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|([\s\S]))/g;

/** What bash makes of the inside of `$'…'`. Bytes outside ASCII and NUL, which would end the word, are refused. */
export function decodeAnsiC(inside: string): string {
  return inside.replace(escapes, (_, hex, short, long, octal, control, other) => {
    if (control !== undefined) return refuse("has a control character in $'…'", 'write the text plainly');
    const digits = hex ?? short ?? long;
    if (digits !== undefined) return character(Number.parseInt(digits, 16), hex !== undefined);
    if (octal !== undefined) return character(Number.parseInt(octal, 8), true);
    // `\x{…}` is understood by some versions only.
    if ('xuU'.includes(other)) return refuse("has an escape in $'…' that cannot be judged", 'write the text plainly');
    return simple[other] ?? ('\\\'"?'.includes(other) ? other : `\\${other}`);
  });
}

function character(code: number, isByte: boolean): string {
  if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || (isByte && code > 0x7f)) {
    refuse("has a byte in $'…' that cannot be judged", 'write the text plainly');
  }
  return String.fromCodePoint(code);
}
