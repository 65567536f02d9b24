// A request over node:http, and its answer as it comes. The process's own agents carry it: connections are kept, and Node's proxy settings
// hold for them as they do for `fetch`.
import type { IncomingMessage, RequestOptions } from 'node:http';
import type { Readable } from 'node:stream';
import { type Bounds, createBoundCheck, isOk, refusalOf } from './bounds.ts';

export interface Post {
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal | undefined;
}

export interface Posted {
  status: number;
  statusText: string;
  headers: Record<string, string>;
  /** Every chunk of the body, to its end. Rejects when it breaks off or `take` throws, and with the signal's reason when that fires. */
  read(take: (chunk: Buffer) => void): Promise<void>;
}

export type Poster = (post: Post) => Promise<Posted>;

/** Resolves when the head of the answer is there and is one of a provider (F2, F3). */
export async function createPoster(address: string): Promise<Poster> {
  const url = new URL(address);
  // Only what the address needs is loaded: TLS is a good part of a start.
  // Not imported: as an ES module each of them brings all of fetch along, which takes longer than the rest of the request.
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
        const refusal = refusalOf(headOf(response, address));
        if (refusal) {
          sent.destroy();
          return reject(refusal);
        }
        decoded(response).then((stream) => resolve(postedOf(response, stream, signal)), reject);
      });
      // Also after the response, when the connection breaks: then the body tells of it, and this changes nothing.
      sent.on('error', (error) => reject(signal?.aborted ? signal.reason : unreachable(error)));
      sent.end(body);
    });
}

function headOf({ statusCode = 0, headers }: IncomingMessage, url: string) {
  return { status: statusCode, contentType: headers['content-type'] ?? '', location: headers.location ?? '', url };
}

function postedOf(response: IncomingMessage, stream: Readable, signal: AbortSignal | undefined): Posted {
  return {
    status: response.statusCode ?? 0,
    statusText: response.statusMessage ?? '',
    headers: response.headers as Record<string, string>,
    read: (take) =>
      new Promise((resolve, reject) => {
        // What is on its way already still comes after the connection is cut, and must not be taken.
        let over = false;
        function fail(thrown: unknown): void {
          over = true;
          response.destroy();
          reject(signal?.aborted ? signal.reason : thrown);
        }
        if (stream.destroyed) return fail(broken(null)); // what is over tells nothing more
        stream.on('data', (chunk: Buffer) => {
          if (over) return;
          try {
            take(chunk);
          } catch (thrown) {
            fail(thrown);
          }
        });
        stream.once('end', resolve);
        stream.once('error', (error) => fail(broken(error)));
        stream.once('close', () => {
          if (!stream.readableEnded) fail(broken(null));
        });
      }),
  };
}

/** Nothing but `identity` was asked for; some proxies compress all the same. */
async function decoded(response: IncomingMessage): Promise<Readable> {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity') return response;
  const { createBrotliDecompress, createUnzip } = await import('node:zlib');
  const through = encoding === 'br' ? createBrotliDecompress() : createUnzip();
  through.on('error', () => {}); // it may fail before anybody reads it
  response.once('error', (error) => through.destroy(error));
  through.once('close', () => response.destroy());
  return response.pipe(through);
}

/** The body of an answer that only says what went wrong. */
export async function readText(posted: Posted, bounds: Bounds): Promise<string> {
  const check = createBoundCheck(bounds.errorBytes, bounds.errorBytes);
  const chunks: Buffer[] = [];
  await posted.read((chunk) => {
    check(chunk);
    chunks.push(chunk);
  });
  return Buffer.concat(chunks).toString('utf8');
}

/** An error status as the AI SDK's packages tell of it: the guard and the failure codes read these fields. */
export async function statusError(posted: Posted, bounds: Bounds): Promise<Error | null> {
  const { status, statusText, headers } = posted;
  if (isOk(status)) return null;
  const data = parsed(await readText(posted, bounds)) as { error?: { message?: unknown } } | null;
  const said = data?.error?.message;
  const error = new Error(typeof said === 'string' ? said : statusText);
  const isRetryable = status === 408 || status === 409 || status === 429 || status >= 500;
  return Object.assign(error, { name: 'ProviderError', statusCode: status, isRetryable, responseHeaders: headers, data });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function unreachable(error: Error & { code?: unknown }): Error {
  const said = error.message || String(error.code ?? 'no connection');
  return Object.assign(new Error(`Cannot connect to API: ${said}`), { name: 'ProviderError', isRetryable: true });
}

function broken(error: Error | null): Error {
  const message = `the connection broke in the middle of the answer${error?.message ? `: ${error.message}` : ''}`;
  return Object.assign(new Error(message), { name: 'ProviderError', isRetryable: true });
}
