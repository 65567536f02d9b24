// What the files of a database occupy on disk.
import { statSync } from 'node:fs';

/** In bytes of allocated blocks: what the file system would get back. */
export function measureFiles(path: string): number {
  return ['', '-wal', '-shm'].reduce((sum, suffix) => sum + 512 * (statSync(path + suffix, { throwIfNoEntry: false })?.blocks ?? 0), 0);
}

export function getLogBytes(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}
