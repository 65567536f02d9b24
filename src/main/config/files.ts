import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { RetinueError } from '../../contract/error.ts';
import { nearestName } from '../../text/suggest.ts';

/** Bytes of a file, at most one more than `max`, so that a reader sees that there are too many. Null where there is no such file. */
export function readBytes(file: string, max: number): Uint8Array | null {
  let fd: number;
  try {
    // Not to wait for a writer where somebody put a FIFO.
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (isMissing(error)) return null;
    throw new RetinueError('usage', `${file} cannot be read: ${codeOf(error)}`, { cause: error });
  }
  try {
    if (!fstatSync(fd).isFile()) throw new RetinueError('usage', `${file} is no file`);
    const buffer = Buffer.alloc(Math.min(max, fstatSync(fd).size) + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read)
      read = readSync(fd, buffer, length, buffer.length - length, null);
    return buffer.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

/** Text of a file that was named by hand. */
export function readNamed(cwd: string, path: string, max: number): string {
  const file = resolve(cwd, path);
  const bytes = readBytes(file, max);
  if (bytes === null) throw missing('file', path, file);
  if (bytes.length > max) throw new RetinueError('usage', `${path} is larger than ${max} bytes`);
  return new TextDecoder().decode(bytes);
}

/** The path of a file for a brief: as seen from the workspace, wherever the user stands. */
export function inWorkspace(workspace: string, cwd: string, path: string): string {
  const file = [resolve(workspace, path), resolve(cwd, path)].find((candidate) => kindOf(candidate) !== null);
  if (file === undefined) throw missing('file', path, resolve(workspace, path));
  if (kindOf(file) !== 'file') throw new RetinueError('usage', `--file: ${path} is no file`);
  const inside = relative(workspace, file);
  return inside.startsWith(`..${sep}`) || isAbsolute(inside) ? file : inside;
}

/** The real path of a directory that was named by hand. */
export function directory(cwd: string, path: string): string {
  const dir = resolve(cwd, path);
  const kind = kindOf(dir);
  if (kind === null) throw missing('directory', path, dir);
  if (kind !== 'directory') throw new RetinueError('usage', `${path} is no directory`);
  return realpathSync(dir);
}

export function missing(kind: 'file' | 'directory', written: string, path: string): RetinueError {
  const near = nearestName(basename(path), siblings(path, kind));
  const guess = near === null ? '' : `; did you mean \`${written.slice(0, written.length - basename(written).length)}${near}\`?`;
  return new RetinueError('usage', `unknown ${kind} \`${written}\`${guess} (looked for ${path})`);
}

function siblings(path: string, kind: 'file' | 'directory'): string[] {
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
    throw new RetinueError('usage', `${path} cannot be read: ${codeOf(error)}`, { cause: error });
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? String(error);
}
