// Files of many lines, in and out, without ever holding all of one.
import { createReadStream, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Output } from '../cli/io.ts';
import { RetinueError } from '../contract/error.ts';
import { missing } from './config/files.ts';

/** The longest text that a run may have pinned, with room for the escapes of JSON. */
const maxLineBytes = 64 * 1024 * 1024;
const chunkCharacters = 65_536;

/** Lines of a file, or of standard input for `-`; empty ones are left out. Rejects with `usage` where it cannot be read as such. */
export async function* readLines(cwd: string, path: string): AsyncGenerator<string> {
  const source = path === '-' ? process.stdin : createReadStream(resolve(cwd, path));
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let parts: Buffer[] = [];
  let size = 0;
  let count = 0;
  const decode = (): string => {
    count++;
    try {
      return decoder.decode(Buffer.concat(parts, size));
    } catch (cause) {
      throw new RetinueError('usage', `${path}: line ${count} is no UTF-8 text`, { cause });
    } finally {
      parts = [];
      size = 0;
    }
  };
  const keep = (part: Buffer) => {
    parts.push(part);
    size += part.length;
    if (size > maxLineBytes) throw new RetinueError('usage', `${path}: line ${count + 1} is longer than ${maxLineBytes} bytes`);
  };
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
        keep(chunk.subarray(from, end));
        from = end + 1;
        const line = decode();
        if (line.trim() !== '') yield line;
      }
      keep(chunk.subarray(from));
    }
    const rest = decode();
    if (rest.trim() !== '') yield rest;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') throw missing('file', path, resolve(cwd, path));
    if (code === 'EISDIR' || code === 'EACCES') throw new RetinueError('usage', `${path} cannot be read: ${code}`, { cause: error });
    throw error;
  }
}

/** A new file that only its owner may read, or standard output for null. Rejects with `usage` where the file is there already. */
export async function openOutput(cwd: string, path: string | null): Promise<Output> {
  const file = path === null ? null : await create(resolve(cwd, path), path);
  const send = (text: string) => (file ? file.writeFile(text) : toStdout(text));
  let waiting = '';
  return {
    async write(text) {
      waiting += text;
      if (waiting.length < chunkCharacters) return;
      const chunk = waiting;
      waiting = '';
      await send(chunk);
    },
    async end() {
      await send(waiting);
      await file?.sync();
      await file?.close();
    },
    async drop() {
      await file?.close();
      if (path !== null) rmSync(resolve(cwd, path), { force: true });
    },
  };
}

async function create(file: string, path: string): Promise<FileHandle> {
  try {
    return await open(file, 'wx', 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EEXIST' ? 'is there already; name another file, or remove it' : `cannot be written: ${code}`;
    throw new RetinueError('usage', `${path} ${why}`, { cause: error });
  }
}

/** Waits for whoever reads. A closed output ends the process by itself. */
function toStdout(text: string): Promise<void> {
  return new Promise((done) => process.stdout.write(text, () => done()));
}
