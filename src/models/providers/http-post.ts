// POST requests with streamed responses, without web streams.
import type { StopSignal } from '../../ports/stop.ts';
import { type Bounds, createBoundCheck } from './bounds.ts';
import { Exchange, type PostResponse } from './exchange.ts';

export interface Post {
  /** With `identityEncoding`. Sent as they are, so that they need not be copied for each request. */
  headers: Record<string, string>;
  body: string;
  signal: StopSignal | undefined;
}

/** A header for all posts: compressed events would arrive later. Some proxies compress anyway, which is understood. */
export const identityEncoding = { 'accept-encoding': 'identity' };

export type Poster = (post: Post) => Promise<PostResponse>;

/** A post resolves when the head of the response has arrived and is acceptable (F2, F3 of bounds.ts). */
export async function createPoster(address: string): Promise<Poster> {
  const url = new URL(address);
  const { findConnections } = await import('./connections.ts');
  const takeConnection = await findConnections(url.origin);
  const target = { method: 'POST', path: `${url.pathname}${url.search}` } as const;

  return ({ headers, body, signal }) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const connection = takeConnection();
      connection.dispatch({ ...target, headers, body }, new Exchange(connection, { url: address, signal, resolve, reject }));
    });
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

/** For a response without success: an error with the fields of the AI SDK's errors, which guard.ts and failure.ts read. */
export async function readStatusError(response: PostResponse, bounds: Bounds): Promise<Error> {
  const { status, statusText, headers } = response;
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
