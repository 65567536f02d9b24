// JSON files in the user's configuration folder that decide what is trusted: readable only if no other user can write them, written atomically.
import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import { readBytes } from './files.ts';

/** Null if the file does not exist. Throws `invalid_config` if other users can write it. */
export function readUserFile(path: string, maxBytes: number): string | null {
  const bytes = readBytes(path, maxBytes);
  if (bytes === null) return null;
  if (canOthersWrite(path)) throw new RetinueError('invalid_config', `${path} can be written by other users; run \`chmod 600\` on it`);
  return new TextDecoder().decode(bytes);
}

function canOthersWrite(path: string): boolean {
  const fd = openSync(path, 'r');
  try {
    const { mode, uid } = fstatSync(fd);
    const ownUid = process.getuid?.();
    return (mode & 0o022) !== 0 || (ownUid !== undefined && ownUid !== 0 && uid !== ownUid && uid !== 0);
  } finally {
    closeSync(fd);
  }
}

/** Writes a temporary file and renames it, so that readers never see half of it. */
export function writeUserFile(path: string, value: object): void {
  const draft = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const fd = openSync(draft, 'wx', 0o600);
    try {
      writeSync(fd, `${JSON.stringify(value, null, 2)}\n`);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(draft, path);
  } catch (error) {
    removeIfPossible(draft);
    throw new RetinueError('usage', `${path} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}

export function removeIfPossible(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // Its parent is not a directory, so the draft was never created.
  }
}
