// POST requests over node:http, with streamed responses. They use the process's default agents, so connections are reused and Node's proxy
// settings apply as they do for `fetch`.
import type { IncomingMessage, RequestOptions } from 'node:http';
import type { Readable } from 'node:stream';
import { type Bounds, createBoundCheck, findRefusal, isOk } from './bounds.ts';

export interface Post {
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal | undefined;
}

export interface PostResponse {
  status: number;
  statusText: string;
  headers: Record<string, string>;
  /** Passes on every chunk of the body. Rejects if the body breaks off or `take` throws, and with the signal's reason when that fires. */
  read(take: (chunk: Buffer) => void): Promise<void>;
}

export type Poster = (post: Post) => Promise<PostResponse>;

/** A post resolves when the head of the response has arrived and is acceptable (F2, F3 of bounds.ts). */
export async function createPoster(address: string): Promise<Poster> {
  const url = new URL(address);
  // Loads only the module that the address needs, because TLS is a large part of start-up time. An import would also load all of fetch, which
  // takes longer than the rest of the request.
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const target: RequestOptions = { method: 'POST', host, port: url.port, path: `${url.pathname}${url.search}` };

  return ({ headers, body, signal }) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const all = { ...headers, 'accept-encoding': 'identity', 'content-length': String(Buffer.byteLength(body)) };
      const sent = request({ ...target, headers: all });
      const onAbort = () => sent.destroy(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
      signal?.addEventListener('abort', onAbort, { once: true });
      sent.once('close', () => signal?.removeEventListener('abort', onAbort));
      sent.once('response', (response) => {
        const refusal = findRefusal(readHead(response, address));
        if (refusal) {
          sent.destroy();
          return reject(refusal);
        }
        const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
        if (encoding === 'identity') resolve(toPostResponse(response, response, signal));
        else decompress(response, encoding).then((stream) => resolve(toPostResponse(response, stream, signal)), reject);
      });
      // May also fire after the response; then the body reports the error, and this rejection has no effect.
      sent.on('error', (error) => reject(signal?.aborted ? signal.reason : createConnectError(error)));
      sent.end(body);
    });
}

function readHead({ statusCode = 0, headers }: IncomingMessage, url: string) {
  return { status: statusCode, contentType: headers['content-type'] ?? '', location: headers.location ?? '', url };
}

function toPostResponse(response: IncomingMessage, stream: Readable, signal: AbortSignal | undefined): PostResponse {
  return {
    status: response.statusCode ?? 0,
    statusText: response.statusMessage ?? '',
    headers: response.headers as Record<string, string>,
    read: (take) =>
      new Promise((resolve, reject) => {
        // Chunks that are already buffered still arrive after the connection is destroyed; they are ignored.
        let hasFailed = false;
        function fail(thrown: unknown): void {
          hasFailed = true;
          response.destroy();
          reject(signal?.aborted ? signal.reason : thrown);
        }
        if (stream.destroyed) return fail(createBreakError(null)); // a destroyed stream emits no more events
        stream.on('data', (chunk: Buffer) => {
          if (hasFailed) return;
          try {
            take(chunk);
          } catch (thrown) {
            fail(thrown);
          }
        });
        stream.once('end', resolve);
        stream.once('error', (error) => fail(createBreakError(error)));
        stream.once('close', () => {
          if (!stream.readableEnded) fail(createBreakError(null));
        });
      }),
  };
}

/** The request accepts only `identity`, but some proxies compress anyway. */
async function decompress(response: IncomingMessage, encoding: string): Promise<Readable> {
  const { createBrotliDecompress, createUnzip } = await import('node:zlib');
  const through = encoding === 'br' ? createBrotliDecompress() : createUnzip();
  through.on('error', () => {}); // It may fail before it has a reader; the reader gets the error again.
  response.once('error', (error) => through.destroy(error));
  through.once('close', () => response.destroy());
  return response.pipe(through);
}

/** The body of an error response. */
export async function readText(response: PostResponse, bounds: Bounds): Promise<string> {
  const check = createBoundCheck(bounds.errorBytes, bounds.errorBytes);
  const chunks: Buffer[] = [];
  await response.read((chunk) => {
    check(chunk);
    chunks.push(chunk);
  });
  return Buffer.concat(chunks).toString('utf8');
}

/** An error with the fields of the AI SDK's errors, which guard.ts and failure.ts read; null for a success status. */
export async function readStatusError(response: PostResponse, bounds: Bounds): Promise<Error | null> {
  const { status, statusText, headers } = response;
  if (isOk(status)) return null;
  const data = parseJson(await readText(response, bounds)) as { error?: { message?: unknown } } | null;
  const message = data?.error?.message;
  const error = new Error(typeof message === 'string' ? message : statusText);
  const isRetryable = status === 408 || status === 409 || status === 429 || status >= 500;
  return Object.assign(error, { name: 'ProviderError', statusCode: status, isRetryable, responseHeaders: headers, data });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // The body is optional detail; the status text replaces it.
  }
}

function createConnectError(error: Error & { code?: unknown }): Error {
  const reason = error.message || String(error.code ?? 'no connection');
  return Object.assign(new Error(`Cannot connect to API: ${reason}`), { name: 'ProviderError', isRetryable: true });
}

function createBreakError(error: Error | null): Error {
  const message = `the connection broke in the middle of the answer${error?.message ? `: ${error.message}` : ''}`;
  return Object.assign(new Error(message), { name: 'ProviderError', isRetryable: true });
}
