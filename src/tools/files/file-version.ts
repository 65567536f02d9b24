// Remembers the version of a file that a run last saw, also after a resume. `read`, `write` and `edit` record it; `write` and `edit` refuse if the file has changed since.
// The version is taken before the text is shown, never after, so that a change in between is noticed.
import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { Memo } from '../../ports/tool.ts';

/** Larger files are compared by inode, size and time instead of content, and cannot be edited. */
export const maxHashedBytes = 8 * 1024 * 1024;
const sliceBytes = 262_144;

const key = (path: string): string => `read:${path}`;

/** The version of the file at this real path that the run last saw; undefined if none. */
export function lastSeenVersion(memo: Memo, path: string): string | undefined {
  return memo.get(key(path));
}

export function rememberVersion(memo: Memo, path: string, version: string): void {
  memo.set(key(path), version);
}

export async function hashFile(file: FileHandle): Promise<string> {
  const stats = await file.stat({ bigint: true });
  if (stats.size > maxHashedBytes) return statsToVersion(stats);
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(Math.min(sliceBytes, Number(stats.size) + 1));
  for (let position = 0; position <= maxHashedBytes; ) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    position += bytesRead;
  }
  return hash.digest('hex');
}

/** The version of a file with this content. `stats` identify it if it is large. */
export function hashContent(content: Buffer, stats: BigIntStats): string {
  return content.length > maxHashedBytes ? statsToVersion(stats) : createHash('sha256').update(content).digest('hex');
}

function statsToVersion({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}`;
}
