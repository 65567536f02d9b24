import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

/**
 * What a run last saw of a file. `read`, `write` and `edit` note it; `write` and `edit` refuse when the file is another by then.
 * A note is made of what was there before the text was shown, never after: a change in between is then met as a change.
 */

/** Larger files are compared by their place, size and time, not by what is in them, and are not edited. */
export const comparedBytes = 8 * 1024 * 1024;
const sliceBytes = 262_144;

const key = (path: string): string => `read:${path}`;

/** The version of the file at this real path that the run last saw; undefined where it saw none. */
export function seen(memo: Map<string, string>, path: string): string | undefined {
  return memo.get(key(path));
}

export function remember(memo: Map<string, string>, path: string, version: string): void {
  memo.set(key(path), version);
}

export async function versionOf(file: FileHandle): Promise<string> {
  const stats = await file.stat({ bigint: true });
  if (stats.size > comparedBytes) return placeOf(stats);
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(Math.min(sliceBytes, Number(stats.size) + 1));
  for (let position = 0; position <= comparedBytes; ) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    position += bytesRead;
  }
  return hash.digest('hex');
}

/** The version of a file that has this content. `stats`: of the file, which for a large one stand for it. */
export function versionOfContent(content: Buffer, stats: BigIntStats): string {
  return content.length > comparedBytes ? placeOf(stats) : createHash('sha256').update(content).digest('hex');
}

function placeOf({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}`;
}

/** Up to `limit` bytes from the start; null where there are more. */
export async function contentOf(file: FileHandle, limit: number): Promise<Buffer | null> {
  const { size } = await file.stat();
  if (size > limit) return null;
  const buffer = Buffer.allocUnsafe(size + 1);
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, filled);
    if (bytesRead === 0) return buffer.subarray(0, filled);
    filled += bytesRead;
  }
  return null;
}
