// Reads an open file into memory, bounded.
import type { FileHandle } from 'node:fs/promises';

const binaryCheckBytes = 8192;

/** Up to `length` bytes from the start. */
export async function readStart(file: FileHandle, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** The whole file, or null if it has more than `limit` bytes or grows while it is read. */
export async function readWhole(file: FileHandle, limit: number): Promise<Buffer | null> {
  const { size } = await file.stat();
  if (size > limit) return null;
  const content = await readStart(file, size + 1);
  return content.length > size ? null : content;
}

/** A NUL byte in the first 8 KiB marks a file as binary. */
export function isBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, binaryCheckBytes).includes(0);
}
