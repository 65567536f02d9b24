// JSON lines over the pipe of a tool process.
import type { Readable, Writable } from 'node:stream';
import { createLineReader } from '../../system/line-reader.ts';

/** A result with its artifacts, with room for JSON escapes. */
const maxLineBytes = 32 * 1024 * 1024;

/** Calls `onLine` with each line, and `onFailure` once if a line is too long or `onLine` throws. Nothing is read after that. */
export function readLines(input: Readable, onLine: (line: string) => void, onFailure: (error: Error) => void): void {
  const reader = createLineReader({
    maxLineBytes,
    onLine: (line) => onLine(line.toString('utf8')),
    onOverflow: () => onFailure(new Error(`a line is longer than ${maxLineBytes} bytes`)),
  });
  input.on('data', (chunk: Buffer) => {
    try {
      reader.push(chunk);
    } catch (error) {
      onFailure(error as Error);
    }
  });
  input.on('error', () => {}); // a broken pipe shows as the exit of the process
}

export function writeLine(output: Writable, message: unknown): void {
  if (output.writable) output.write(`${JSON.stringify(message)}\n`);
}
