// Files in the user's own folder that decide what counts: read only where nobody else may have written them, never seen half written.
import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import { readBytes } from './config/files.ts';

/** Null where there is none. Throws where others may write it. */
export function readOwn(path: string, maxBytes: number): string | null {
  const bytes = readBytes(path, maxBytes);
  if (bytes === null) return null;
  if (othersMayWrite(path)) throw new RetinueError('invalid_config', `${path} can be written by others; \`chmod 600\` it`);
  return new TextDecoder().decode(bytes);
}

function othersMayWrite(path: string): boolean {
  const fd = openSync(path, 'r');
  try {
    const { mode, uid } = fstatSync(fd);
    const own = process.getuid?.();
    return (mode & 0o022) !== 0 || (own !== undefined && own !== 0 && uid !== own && uid !== 0);
  } finally {
    closeSync(fd);
  }
}

/** Beside its place and then under its name, so that nobody ever sees half of it. */
export function writeOwn(path: string, value: object): void {
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
    drop(draft);
    throw new RetinueError('usage', `${path} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}

function drop(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // Its folder is none.
  }
}
