// Sends encoded spans over HTTP. A failure is a value: `again` says whether the same spans may be sent once more.
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { gzipSync } from 'node:zlib';

export interface PostOptions {
  url: string;
  headers: Record<string, string>;
  gzip: boolean;
  timeoutMs: number;
  /** Files. */
  tls: { ca?: string; cert?: string; key?: string };
}

export type PostResult = { ok: true; body: Uint8Array } | { ok: false; again: boolean; reason: string };

/** Answers of a receiver are short. */
const maxBodyBytes = 65_536;
/** Those that the OTLP specification calls retryable. */
const retryableStatus = [429, 502, 503, 504];

export function createPost({ url, headers, gzip, timeoutMs, tls }: PostOptions) {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  let certificates: Record<string, Buffer> | null = null;

  return async (body: Uint8Array, contentType: string, signal: AbortSignal): Promise<PostResult> => {
    try {
      certificates ??= Object.fromEntries(Object.entries(tls).map(([name, file]) => [name, readFileSync(file)]));
    } catch (error) {
      return { ok: false, again: false, reason: (error as Error).message };
    }
    const sent = gzip ? gzipSync(body) : body;
    const all = {
      ...headers,
      'content-type': contentType,
      'content-length': String(sent.length),
      ...(gzip ? { 'content-encoding': 'gzip' } : {}),
    };
    return new Promise<PostResult>((resolve) => {
      const fail = (error: Error) =>
        resolve({ ok: false, again: true, reason: error.message || String((error as NodeJS.ErrnoException).code) });
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      // Redirects are not followed: headers may have secrets, which belong to this address only.
      const sending = request(url, { method: 'POST', headers: all, signal: limit, ...certificates }, (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size <= maxBodyBytes) chunks.push(chunk);
        });
        response.on('error', fail);
        response.on('end', () => {
          const { statusCode = 0, statusMessage = '' } = response;
          if (statusCode >= 200 && statusCode < 300)
            return resolve({ ok: true, body: size > maxBodyBytes ? new Uint8Array() : Buffer.concat(chunks) });
          resolve({ ok: false, again: retryableStatus.includes(statusCode), reason: `HTTP ${statusCode} ${statusMessage}`.trim() });
        });
      });
      sending.on('error', fail);
      sending.end(sent);
    });
  };
}
