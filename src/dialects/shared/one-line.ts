/** Puts foreign text on one line of ours: no line breaks, no control characters, at most `max` characters. */
export function toOneLine(text: string, max = 500): string {
  const flat = text
    .toWellFormed()
    .replace(/[\s\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
    .trim();
  return flat.length <= max ? flat : `${flat.slice(0, max).toWellFormed()}…`;
}
