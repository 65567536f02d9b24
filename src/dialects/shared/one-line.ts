/** Text of somebody else on one line of ours: without breaks and control characters, and not too long. */
export function oneLine(text: string, max = 500): string {
  const flat = text
    .toWellFormed()
    .replace(/[\s\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
    .trim();
  return flat.length <= max ? flat : `${flat.slice(0, max).toWellFormed()}…`;
}
