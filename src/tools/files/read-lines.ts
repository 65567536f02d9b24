// Reads some lines of a file in bounded memory.
import type { FileHandle } from 'node:fs/promises';
import { isBinary } from './read-file.ts';

const sliceBytes = 262_144;
const newline = 10;

/** Which lines to read, counted from 1. `bytes` bounds the returned text, `scan` the bytes read from disk. */
export interface LineRange {
  offset: number;
  limit: number;
  bytes: number;
  scan: number;
  lineChars: number;
}

/** `lines`: how many lines the file has up to where reading stopped. `end`: why it stopped there. */
export interface LinesRead {
  texts: string[];
  lines: number;
  end: 'file' | 'limit' | 'bytes' | 'scan';
  binary: boolean;
}

/**
 * Reads lines slice by slice, so that memory stays bounded whatever the size of the file and its lines. A file with a NUL byte in its first 8 KiB is
 * binary and is not read further. Rejects when `signal` fires.
 */
export async function readLines(file: FileHandle, wanted: LineRange, signal: AbortSignal): Promise<LinesRead> {
  const buffer = Buffer.allocUnsafe(sliceBytes);
  const line = new LineBuffer(wanted.lineChars);
  const texts: string[] = [];
  let lines = 0;
  let bytes = 0;
  const stopped = (end: LinesRead['end']): LinesRead => {
    if (line.open) lines++;
    if (line.open && lines >= wanted.offset) texts.push(line.take());
    return { texts, lines, end, binary: false };
  };
  for (let position = 0; position < wanted.scan; ) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, sliceBytes, position);
    if (bytesRead === 0) return stopped('file');
    const slice = buffer.subarray(0, bytesRead);
    if (position === 0 && isBinary(slice)) return { texts, lines, end: 'file', binary: true };
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

/** Byte by byte: calling indexOf for each of millions of short lines would take seconds. */
function skipLines(slice: Buffer, start: number, count: number): { next: number; lines: number } {
  let lines = 0;
  let next = start;
  while (next < slice.length && lines < count) if (slice[next++] === newline) lines++;
  return { next, lines };
}

/** The line being read. Keeps only as much of it as can be shown. */
class LineBuffer {
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
    // A UTF-16 unit takes at most three bytes, so this many bytes always contain the characters to show.
    const room = Math.min(piece.length, this.#chars * 3 + 3 - this.#kept);
    if (room <= 0) return;
    this.#pieces.push(Buffer.from(piece.subarray(0, room)));
    this.#kept += room;
  }

  take(): string {
    const whole = Buffer.concat(this.#pieces).toString('utf8').replaceAll('\0', '\ufffd');
    const text = whole.length <= this.#chars ? whole : `${cutChars(whole, this.#chars)} … [line cut: ${this.#length} bytes]`;
    this.#pieces = [];
    this.#kept = 0;
    this.#length = 0;
    this.open = false;
    return text;
  }
}

/** The first `chars` UTF-16 units of a text, or one less if that would split a character. */
export function cutChars(text: string, chars: number): string {
  return text.slice(0, chars).replace(/[\ud800-\udbff]$/, '');
}
