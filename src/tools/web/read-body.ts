// Reads and decodes the body of a response, bounded.
import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import zlib, { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { createToolRefusal, type Refusal } from '../refusal.ts';

export const acceptEncoding = 'gzip, deflate, br';

/** `whole`: nothing is missing. If a body breaks off, `bytes` is what had arrived. */
export type ReadBodyResult = { ok: true; bytes: Buffer; whole: boolean } | Refusal;

/** Decompresses the body and stops at `limit` decompressed bytes, however few bytes were sent. Rejects only when the signal fires. */
export async function readBody(response: IncomingMessage, limit: number, signal: AbortSignal): Promise<ReadBodyResult> {
  const decompressed = decompress(response);
  if (decompressed === null) {
    response.destroy();
    return createToolRefusal(`the response has an unsupported content encoding (${response.headers['content-encoding']})`);
  }
  const bytes = Buffer.allocUnsafeSlow(limit);
  let length = 0;
  try {
    for await (const chunk of decompressed as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      length += chunk.copy(bytes, length);
      if (length === limit) return { ok: true, bytes, whole: false };
    }
    signal.throwIfAborted();
    return { ok: true, bytes: bytes.subarray(0, length), whole: response.complete };
  } catch {
    signal.throwIfAborted();
    return length === 0 ? createToolRefusal('the response broke off') : { ok: true, bytes: bytes.subarray(0, length), whole: false };
  } finally {
    decompressed.destroy();
    response.destroy();
  }
}

/** Null for an unknown encoding, which includes several encodings at once: no browser asks for that. */
function decompress(response: IncomingMessage): Readable | null {
  const create = {
    gzip: createGunzip,
    'x-gzip': createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
    // Not imported by name, so that a Node without it can load the library and say that it is too old.
    zstd: zlib.createZstdDecompress,
  };
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return response;
  if (!Object.hasOwn(create, encoding)) return null;
  // Errors reach the reader of the returned stream.
  return pipeline(response, create[encoding as keyof typeof create](), () => {});
}

/** The charset comes from the byte order mark, the server, the page itself, or is UTF-8. */
export function decodeBody(bytes: Buffer, contentType: string): string {
  const head = bytes.toString('latin1', 0, 1024);
  const label =
    byteOrderMark(bytes) ??
    /charset\s*=\s*["']?([\w.:-]+)/i.exec(contentType)?.[1] ??
    /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)/i.exec(head)?.[1];
  try {
    return new TextDecoder(label ?? 'utf-8').decode(bytes);
  } catch {
    // An unknown charset.
    return new TextDecoder().decode(bytes);
  }
}

function byteOrderMark(bytes: Buffer): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : null;
}
