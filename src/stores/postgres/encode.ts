// PostgreSQL's text cannot hold the character NUL. Where a text may contain it, it is stored with `\` as an escape character. Facts, rows and orders are
// JSON, which escapes it anyway.

export function encodeText(text: string): string {
  return text.replace(/[\\\0]/g, (character) => (character === '\0' ? '\\0' : '\\\\'));
}

export function decodeText(stored: string): string {
  return stored.replace(/\\(.)/g, (_, character: string) => (character === '0' ? '\0' : character));
}
