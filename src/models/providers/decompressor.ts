// Decompresses the body of a response. Requests ask for `identity`, but some proxies compress anyway.
import type { BrotliDecompress, Unzip } from 'node:zlib';

export interface Decompressor {
  /** False if no more should be written until `drained` is called. */
  write(chunk: Buffer): boolean;
  end(): void;
  destroy(): void;
}

export interface DecompressorEvents {
  take(chunk: Buffer): void;
  drained(): void;
  finish(): void;
  fail(error: Error): void;
}

/** Null if the body is not compressed. */
export function createDecompressor(contentEncoding: string, events: DecompressorEvents): Decompressor | null {
  const encoding = contentEncoding.trim().toLowerCase();
  if (encoding === 'identity') return null;
  const { createBrotliDecompress, createUnzip } = process.getBuiltinModule('node:zlib');
  const stream: BrotliDecompress | Unzip = encoding === 'br' ? createBrotliDecompress() : createUnzip();
  stream.on('data', (chunk: Buffer) => events.take(chunk));
  stream.on('drain', () => events.drained());
  stream.once('end', () => events.finish());
  stream.on('error', (error) => events.fail(error));
  return {
    write: (chunk) => stream.write(chunk),
    end: () => void stream.end(),
    destroy: () => void stream.destroy(),
  };
}
