// Reads the output pipe of a command without ever blocking it.
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { releaseBuffer } from '../../../system/release-buffer.ts';
import { BoundedOutput } from './bounded-output.ts';

/** After the end of the command the pipe is read until it closes, or until nothing arrives for this long. */
export const silenceMs = 250;

export interface PipeReader {
  output: BoundedOutput;
  isClosed(): boolean;
  /** Waits until the pipe is closed or silent, at most `ms`. */
  drain(ms: number): Promise<void>;
  close(): void;
}

export function readPipe(stream: Readable | null): PipeReader {
  const output = new BoundedOutput();
  let last = 0;
  let closed = false;
  const closing = Promise.withResolvers<void>();
  stream?.on('data', (chunk: Buffer) => {
    last = performance.now();
    output.add(chunk);
    releaseBuffer(chunk);
  });
  // An error also closes the stream; what was read before it counts.
  stream?.on('error', () => {});
  stream?.once('close', () => {
    closed = true;
    closing.resolve();
  });
  return {
    output,
    isClosed: () => closed,
    async drain(ms) {
      const end = performance.now() + ms;
      last = performance.now();
      while (!closed && performance.now() < Math.min(end, last + silenceMs)) await Promise.race([closing.promise, sleep(10)]);
    },
    close: () => void stream?.destroy(),
  };
}
