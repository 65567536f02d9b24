// Cuts text to a number of bytes without splitting characters.

/** Cuts to at most `max` bytes of UTF-8 without splitting a character. */
export function cutBytes(text: string, max: number): { text: string; originalBytes: number; keptBytes: number } {
  const originalBytes = Buffer.byteLength(text);
  if (originalBytes <= max) return { text, originalBytes, keptBytes: originalBytes };
  const kept = headBytes(text, max);
  return { text: kept, originalBytes, keptBytes: Buffer.byteLength(kept) };
}

/** The notice that ends a cut text. */
export function formatTruncation({ keptBytes, originalBytes }: { keptBytes: number; originalBytes: number }): string {
  return `[truncated: kept ${keptBytes} of ${originalBytes} bytes]`;
}

function headBytes(text: string, max: number): string {
  // A UTF-16 unit is at least one byte, so the first `max` units are enough.
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

/** Cuts a text to about `max` bytes: keeps head and tail, with a notice between them that says how much is missing. */
export function cutMiddle(text: string, max: number): { text: string; truncated: { originalBytes: number; keptBytes: number } | null } {
  const originalBytes = Buffer.byteLength(text);
  if (originalBytes <= max) return { text, truncated: null };
  const head = headBytes(text, Math.floor(max * 0.7));
  const tail = tailBytes(text, Math.floor(max * 0.3));
  const keptBytes = Buffer.byteLength(head) + Buffer.byteLength(tail);
  const notice = `\n[… ${originalBytes - keptBytes} of ${originalBytes} bytes left out …]\n`;
  return { text: head + notice + tail, truncated: { originalBytes, keptBytes } };
}

// C0 except tab and newline, DEL, C1, zero-width characters and marks, bidirectional controls, invisible operators, tags.
const invisible =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Removes control, bidirectional and invisible characters, and normalises newlines. */
export function cleanText(text: string): string {
  return text.toWellFormed().replace(/\r\n?/g, '\n').replace(invisible, '');
}
