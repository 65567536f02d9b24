// Files with many lines, read and written without holding a whole file in memory.
import { createReadStream, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Output } from '../cli/io.ts';
import { missingPathError } from '../config/files.ts';
import { RetinueError } from '../contract/error.ts';
import { createLineReader } from '../system/line-reader.ts';

/** The longest text that a run may record, with room for JSON escapes. */
const maxLineBytes = 64 * 1024 * 1024;
const chunkCharacters = 65_536;

/** Non-empty lines of a file, or of standard input for `-`. Rejects with `usage` if it cannot be read as UTF-8 text. */
export async function* readLines(cwd: string, path: string): AsyncGenerator<string> {
  const source = path === '-' ? process.stdin : createReadStream(resolve(cwd, path));
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let lines: string[] = [];
  let count = 0;
  const reader = createLineReader({
    maxLineBytes,
    onLine(line) {
      count++;
      try {
        lines.push(decoder.decode(line));
      } catch (cause) {
        throw new RetinueError('usage', `${path}: line ${count} is not UTF-8 text`, { cause });
      }
    },
    onOverflow() {
      throw new RetinueError('usage', `${path}: line ${count + 1} is longer than ${maxLineBytes} bytes`);
    },
  });
  const takeLines = () => {
    const taken = lines.filter((line) => line.trim() !== '');
    lines = [];
    return taken;
  };
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      reader.push(chunk);
      yield* takeLines();
    }
    reader.end();
    yield* takeLines();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') throw missingPathError('file', path, resolve(cwd, path));
    if (code === 'EISDIR' || code === 'EACCES') throw new RetinueError('usage', `${path} cannot be read: ${code}`, { cause: error });
    throw error;
  }
}

/** A new file that only its owner can read, or standard output for null. Rejects with `usage` if the file exists. */
export async function openOutput(cwd: string, path: string | null): Promise<Output> {
  const file = path === null ? null : await createFile(resolve(cwd, path), path);
  const send = (text: string) => (file ? file.writeFile(text) : writeToStdout(text));
  let buffered = '';
  return {
    async write(text) {
      buffered += text;
      if (buffered.length < chunkCharacters) return;
      const chunk = buffered;
      buffered = '';
      await send(chunk);
    },
    async end() {
      await send(buffered);
      await file?.sync();
      await file?.close();
    },
    async drop() {
      await file?.close();
      if (path !== null) rmSync(resolve(cwd, path), { force: true });
    },
  };
}

async function createFile(file: string, path: string): Promise<FileHandle> {
  try {
    return await open(file, 'wx', 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EEXIST' ? 'already exists; choose another file, or delete it' : `cannot be written: ${code}`;
    throw new RetinueError('usage', `${path} ${why}`, { cause: error });
  }
}

/** Waits for the reader. If the reader closes the stream, the handler in process-io.ts ends the process. */
function writeToStdout(text: string): Promise<void> {
  return new Promise((done) => process.stdout.write(text, () => done()));
}
