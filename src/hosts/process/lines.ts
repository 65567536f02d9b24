// Lines over a pipe, bounded: a line that does not end is an error, not memory.
import type { Readable, Writable } from 'node:stream';

/** A result with its artifacts, and room for the escapes of JSON. */
const maxLineBytes = 32 * 1024 * 1024;

/** Calls `take` with each line, and `fault` once when there can be no more. What `take` throws is a fault too. */
export function readLines(input: Readable, take: (line: string) => void, fault: (error: Error) => void): void {
  let parts: Buffer[] = [];
  let size = 0;
  let broken = false;
  const breakOff = (error: Error) => {
    if (broken) return;
    broken = true;
    parts = [];
    fault(error);
  };
  input.on('data', (chunk: Buffer) => {
    let from = 0;
    for (let end = chunk.indexOf(10); !broken && end !== -1; end = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, end));
      const line = Buffer.concat(parts).toString('utf8');
      parts = [];
      size = 0;
      from = end + 1;
      try {
        take(line);
      } catch (error) {
        breakOff(error as Error);
      }
    }
    if (broken) return;
    parts.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > maxLineBytes) breakOff(new Error(`a line is longer than ${maxLineBytes} bytes`));
  });
  input.on('error', () => {});
}

export function writeLine(output: Writable, message: unknown): void {
  if (output.writable) output.write(`${JSON.stringify(message)}\n`);
}
