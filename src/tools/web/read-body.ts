import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { type Refusal, refuse } from '../refusal.ts';

export const acceptEncoding = 'gzip, deflate, br';

/** `whole`: nothing was left out. A body that breaks off gives what had come. */
export type Body = { ok: true; bytes: Buffer; whole: boolean } | Refusal;

/** Reads a body, unpacked, and stops at `limit` unpacked bytes however small the packed ones are. Rejects only when the signal fires. */
export async function readBody(response: IncomingMessage, limit: number, signal: AbortSignal): Promise<Body> {
  const unpacked = unpack(response);
  if (unpacked === null) {
    response.destroy();
    return refuse(`the answer is packed in a way that is not known here (${response.headers['content-encoding']})`);
  }
  const bytes = Buffer.allocUnsafeSlow(limit);
  let length = 0;
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      length += chunk.copy(bytes, length);
      if (length === limit) return { ok: true, bytes, whole: false };
    }
    signal.throwIfAborted();
    return { ok: true, bytes: bytes.subarray(0, length), whole: response.complete };
  } catch {
    signal.throwIfAborted();
    return length === 0 ? refuse('the answer broke off') : { ok: true, bytes: bytes.subarray(0, length), whole: false };
  } finally {
    unpacked.destroy();
    response.destroy();
  }
}

/** Packed more than once is nothing that a browser asks for. */
function unpack(response: IncomingMessage): Readable | null {
  const make = {
    gzip: createGunzip,
    'x-gzip': createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
    zstd: createZstdDecompress,
  };
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return response;
  if (!Object.hasOwn(make, encoding)) return null;
  return pipeline(response, make[encoding as keyof typeof make](), () => {});
}

/** The text of a body: by its mark, what the server says, what the page says, or UTF-8. */
export function decode(bytes: Buffer, contentType: string): string {
  const head = bytes.toString('latin1', 0, 1024);
  const label =
    markOf(bytes) ??
    /charset\s*=\s*["']?([\w.:-]+)/i.exec(contentType)?.[1] ??
    /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)/i.exec(head)?.[1];
  try {
    return new TextDecoder(label ?? 'utf-8').decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

function markOf(bytes: Buffer): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : null;
}
