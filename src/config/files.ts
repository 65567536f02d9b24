// Reading files and folders that the user named, with errors that suggest the nearest existing name.
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { RetinueError } from '../contract/error.ts';
import { nearestName } from '../text/suggest.ts';

/** Reads at most `max + 1` bytes, so that the caller can tell a file that is too large. Null if the file does not exist. */
export function readBytes(file: string, max: number): Uint8Array | null {
  let fd: number;
  try {
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (isMissing(error)) return null;
    throw new RetinueError('usage', `${file} cannot be read: ${describeCode(error)}`, { cause: error });
  }
  try {
    const stat = fstatSync(fd);
    if (stat.isDirectory()) throw new RetinueError('usage', `${file} is a folder; name a file in it`);
    if (!stat.isFile()) throw new RetinueError('usage', `${file} is not a regular file; copy what it contains into one`);
    const buffer = Buffer.alloc(Math.min(max, fstatSync(fd).size) + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read)
      read = readSync(fd, buffer, length, buffer.length - length, null);
    return buffer.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

/** Text of a file that the user named. */
export function readNamedFile(cwd: string, path: string, max: number): string {
  const file = resolve(cwd, path);
  const bytes = readBytes(file, max);
  if (bytes === null) throw missingPathError('file', path, file);
  if (bytes.length > max) throw new RetinueError('usage', `${path} is larger than ${max} bytes; use a smaller file`);
  return new TextDecoder().decode(bytes);
}

/** A path as the user wrote it: in the current folder if that is in the workspace, otherwise in the workspace first. Null if it does not exist. */
export function findNamedPath(workspace: string, cwd: string, path: string): string | null {
  const current = realpathSync(cwd);
  const folders = isInside(workspace, current) ? [current, workspace] : [workspace, current];
  return folders.map((folder) => resolve(folder, path)).find((candidate) => kindOf(candidate) !== null) ?? null;
}

export function isInside(folder: string, path: string): boolean {
  const inside = relative(folder, path);
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** The real path of a directory that the user named. */
export function resolveDirectory(cwd: string, path: string): string {
  const dir = resolve(cwd, path);
  const kind = kindOf(dir);
  if (kind === null) throw missingPathError('directory', path, dir);
  if (kind !== 'directory') throw new RetinueError('usage', `${path} is not a directory; name the folder that it is in`);
  return realpathSync(dir);
}

export function missingPathError(kind: 'file' | 'directory', written: string, path: string): RetinueError {
  const near = nearestName(basename(path), listSiblings(path, kind));
  const guess = near === null ? '' : `; did you mean \`${written.slice(0, written.length - basename(written).length)}${near}\`?`;
  return new RetinueError('usage', `unknown ${kind} \`${written}\`${guess} (looked for ${path})`);
}

function listSiblings(path: string, kind: 'file' | 'directory'): string[] {
  try {
    return readdirSync(dirname(path), { withFileTypes: true })
      .filter((entry) => kind === 'file' || !entry.isFile())
      .slice(0, 5000)
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}

function kindOf(path: string): 'file' | 'directory' | 'other' | null {
  try {
    const stat = statSync(path);
    return stat.isFile() ? 'file' : stat.isDirectory() ? 'directory' : 'other';
  } catch (error) {
    if (isMissing(error)) return null;
    throw new RetinueError('usage', `${path} cannot be read: ${describeCode(error)}`, { cause: error });
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(codeOf(error));
}

function describeCode(error: unknown): string {
  const code = codeOf(error);
  return code === 'EACCES' || code === 'EPERM' ? 'you may not read it; change its rights, or those of a folder above it' : code;
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? String(error);
}
