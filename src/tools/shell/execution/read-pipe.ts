import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { free } from '../../../system/release-buffer.ts';
import { Output } from './bounded-output.ts';

/** After the end the pipe is read until it is closed, or silent for this long. */
export const silenceMs = 250;

export interface Pipe {
  output: Output;
  isClosed(): boolean;
  /** Waits for the end of what is in it. */
  drain(ms: number): Promise<void>;
  close(): void;
}

export function readPipe(stream: Readable | null): Pipe {
  const output = new Output();
  let last = 0;
  let closed = false;
  const closing = Promise.withResolvers<void>();
  stream?.on('data', (chunk: Buffer) => {
    last = performance.now();
    output.add(chunk);
    free(chunk);
  });
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
