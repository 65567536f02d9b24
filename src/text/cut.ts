// Text on its way into a conversation: made well-formed, cut to size, and, when a child wrote it, cleaned, fenced and labelled
// (invariant 10). Nothing here looks at what the text says.

/** Cuts to at most `max` bytes of UTF-8 without splitting a character. */
export function cutBytes(text: string, max: number): { text: string; originalBytes: number; keptBytes: number } {
  const originalBytes = Buffer.byteLength(text);
  if (originalBytes <= max) return { text, originalBytes, keptBytes: originalBytes };
  const kept = headBytes(text, max);
  return { text: kept, originalBytes, keptBytes: Buffer.byteLength(kept) };
}

function headBytes(text: string, max: number): string {
  // A character has at most 3 bytes per UTF-16 unit, so the first `max` units are always enough to look at.
  const bytes = Buffer.from(text.slice(0, max));
  let end = Math.min(max, bytes.length);
  while (end > 0 && end < bytes.length && ((bytes[end] as number) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

function tailBytes(text: string, max: number): string {
  const bytes = Buffer.from(text.slice(-max));
  let start = Math.max(0, bytes.length - max);
  while (start < bytes.length && ((bytes[start] as number) & 0xc0) === 0x80) start++;
  return bytes.toString('utf8', start);
}

/** Keeps head and tail of a tool's output and says what is missing. */
export function cutMiddle(text: string, max: number): { text: string; truncated: { originalBytes: number; keptBytes: number } | null } {
  const originalBytes = Buffer.byteLength(text);
  if (originalBytes <= max) return { text, truncated: null };
  const head = headBytes(text, Math.floor(max * 0.7));
  const tail = tailBytes(text, Math.floor(max * 0.3));
  const keptBytes = Buffer.byteLength(head) + Buffer.byteLength(tail);
  const notice = `\n[… ${originalBytes - keptBytes} of ${originalBytes} bytes left out …]\n`;
  return { text: head + notice + tail, truncated: { originalBytes, keptBytes } };
}

// C0 but tab and newline, DEL, C1, zero-width characters and marks, bidirectional controls, invisible operators, tags.
const invisible =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Removes what a reader cannot see: control, bidirectional and invisible characters. Newlines are normalised. */
export function cleanText(text: string): string {
  return text.toWellFormed().replace(/\r\n?/g, '\n').replace(invisible, '');
}

const fenceName = 'run-output';
const fenceTag = new RegExp(`<(?=\\s*/?\\s*${fenceName})`, 'gi');

/** A child's text, cleaned before, as data inside the parent's conversation. Our own fence cannot be closed from inside. */
export function fence(text: string, run: string): string {
  const safe = text.replace(fenceTag, '&lt;');
  return `<${fenceName} run="${run}">\n${safe}\n</${fenceName}>`;
}
