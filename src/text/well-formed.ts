// JSON without half surrogate pairs.

// Escapes in JSON text, a surrogate pair counting as one. The group matches half a pair.
const escapes = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)/g;

/** Well-formed after parsing, too: half a surrogate pair may be written as an escape. */
export function wellFormedJson(text: string): string {
  const plain = text.toWellFormed();
  return /\\u[dD]/.test(plain) ? plain.replace(escapes, (whole, half) => (half === undefined ? whole : '\\ufffd')) : plain;
}
