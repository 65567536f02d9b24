import type { FileHandle } from 'node:fs/promises';

const sliceBytes = 262_144;
const newline = 10;

/** What to take of a file. Lines are counted from 1; `bytes` bounds the text taken, `scan` the bytes looked at. */
export interface Wanted {
  offset: number;
  limit: number;
  bytes: number;
  scan: number;
  lineChars: number;
}

/** `lines` counts the lines up to the place where reading stopped, and `end` says why it stopped there. */
export interface Taken {
  texts: string[];
  lines: number;
  end: 'file' | 'limit' | 'bytes' | 'scan';
  binary: boolean;
}

/**
 * Takes some lines of a file, slice by slice: memory stays bounded whatever the size of file and lines. A NUL byte in the first
 * 8 KiB makes a file binary and nothing is taken of it. Rejects when `signal` fires.
 */
export async function takeLines(file: FileHandle, wanted: Wanted, signal: AbortSignal): Promise<Taken> {
  const buffer = Buffer.allocUnsafe(sliceBytes);
  const line = new Line(wanted.lineChars);
  const texts: string[] = [];
  let lines = 0;
  let bytes = 0;
  const stopped = (end: Taken['end']): Taken => {
    if (line.open) lines++;
    if (line.open && lines >= wanted.offset) texts.push(line.take());
    return { texts, lines, end, binary: false };
  };
  for (let position = 0; position < wanted.scan; ) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, sliceBytes, position);
    if (bytesRead === 0) return stopped('file');
    const slice = buffer.subarray(0, bytesRead);
    if (position === 0 && slice.subarray(0, 8192).includes(0)) return { texts, lines, end: 'file', binary: true };
    position += bytesRead;
    for (let start = 0; start < bytesRead; ) {
      if (texts.length === wanted.limit) return stopped('limit');
      if (bytes >= wanted.bytes) return stopped('bytes');
      if (lines + 1 < wanted.offset) {
        const skipped = skipLines(slice, start, wanted.offset - 1 - lines);
        line.open = slice[skipped.next - 1] !== newline;
        lines += skipped.lines;
        start = skipped.next;
        continue;
      }
      const found = slice.indexOf(newline, start);
      const end = found < 0 ? bytesRead : found;
      line.add(slice.subarray(start, end));
      start = end + 1;
      if (found < 0) break;
      const text = line.take();
      lines++;
      texts.push(text);
      bytes += Buffer.byteLength(text);
    }
  }
  return stopped('scan');
}

/** Byte by byte: a search for each line would take seconds over millions of short ones. */
function skipLines(slice: Buffer, start: number, count: number): { next: number; lines: number } {
  let lines = 0;
  let next = start;
  while (next < slice.length && lines < count) if (slice[next++] === newline) lines++;
  return { next, lines };
}

/** The line at hand: only as much of it is kept as can be shown. */
class Line {
  readonly #chars: number;
  #pieces: Buffer[] = [];
  #kept = 0;
  #length = 0;
  open = false;

  constructor(chars: number) {
    this.#chars = chars;
  }

  add(piece: Buffer): void {
    this.open = true;
    this.#length += piece.length;
    // A UTF-16 unit takes at most three bytes, so this many always hold the characters to be shown.
    const room = Math.min(piece.length, this.#chars * 3 + 3 - this.#kept);
    if (room <= 0) return;
    this.#pieces.push(Buffer.from(piece.subarray(0, room)));
    this.#kept += room;
  }

  take(): string {
    const whole = Buffer.concat(this.#pieces).toString('utf8').replaceAll('\0', '\ufffd');
    const text = whole.length <= this.#chars ? whole : `${cut(whole, this.#chars)} … [line cut: ${this.#length} bytes]`;
    this.#pieces = [];
    this.#kept = 0;
    this.#length = 0;
    this.open = false;
    return text;
  }
}

/** The first `chars` UTF-16 units of a text, one less where that would halve a character. */
export function cut(text: string, chars: number): string {
  return text.slice(0, chars).replace(/[\ud800-\udbff]$/, '');
}
