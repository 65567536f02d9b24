// One HTTP request: address, token, answer and error. Only `fetch` and standard web types, so that it runs in browsers too.
import { pageKeyHeader } from '../contract/page-key.ts';
import { RemoteError, unreachableError } from './error.ts';
import { takePageKey } from './page-key.ts';

export interface RequestOptions {
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

export interface Requester {
  /** The address of the server, without a query. */
  url: string;
  get<T>(path: string, options?: Omit<RequestOptions, 'body'>): Promise<T>;
  post<T>(path: string, options?: RequestOptions): Promise<T>;
  /** An answer whose body is read as a stream. */
  open(path: string, options?: Omit<RequestOptions, 'body'>): Promise<Response>;
}

export interface RequesterOptions {
  url: string;
  token?: string | undefined;
  fetch?: typeof globalThis.fetch | undefined;
  /** The workspace that every request names. */
  workspace?: string | undefined;
  /** Send the token to an `http://` address of another machine. */
  insecureHttp?: boolean | undefined;
}

/** A read that gets no answer for this long has failed. Orders have no limit of their own: a pause waits for calls that are running. */
const readTimeoutMs = 60_000;

/** Throws `usage` for an address that cannot be used. */
export function createRequester({ url, token, fetch = globalThis.fetch, workspace, insecureHttp }: RequesterOptions): Requester {
  const base = parseServerUrl(url);
  if (token !== undefined) checkToken(token, base, insecureHttp === true);
  const shown = base.href.replace(/\/$/, '');
  const { location } = globalThis as { location?: { origin: string } };
  const pageKey = token === undefined && location?.origin === base.origin ? takePageKey() : () => null;

  async function send(method: 'GET' | 'POST', path: string, options: RequestOptions): Promise<Response> {
    const target = new URL(path, base);
    for (const [name, value] of Object.entries({ ...options.query, workspace }))
      if (value !== undefined) target.searchParams.set(name, String(value));
    const headers: Record<string, string> = { accept: 'application/json', ...options.headers };
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    const key = pageKey();
    if (key !== null) headers[pageKeyHeader] = key;
    if (method === 'POST') headers['content-type'] = 'application/json';
    let response: Response;
    try {
      response = await fetch(target, {
        ...{ method, headers, redirect: 'error', credentials: 'same-origin', cache: 'no-store' },
        ...(method === 'POST' ? { body: JSON.stringify(options.body ?? {}) } : {}),
        ...(options.signal ? { signal: options.signal } : {}),
      });
    } catch (error) {
      if (options.signal?.aborted) throw options.signal.reason ?? error;
      throw unreachableError(shown, error);
    }
    if (!response.ok) throw await readError(response, shown);
    return response;
  }

  async function readJson<T>(response: Response, signal: AbortSignal | undefined): Promise<T> {
    if (!isJson(response)) throw notRetinueError(response, shown);
    try {
      return (await response.json()) as T;
    } catch (error) {
      if (signal?.aborted) throw signal.reason ?? error;
      throw new RemoteError('unreachable', `the answer of the server at ${shown} was cut off; try again`, {
        retryable: true,
        cause: error,
      });
    }
  }

  return {
    url: shown,
    async get(path, options = {}) {
      const timeout = new AbortController();
      const error = () =>
        new RemoteError('unreachable', `the server at ${shown} did not answer within ${readTimeoutMs / 1000} s`, { retryable: true });
      const timer = setTimeout(() => timeout.abort(error()), readTimeoutMs);
      const signal = options.signal ? AbortSignal.any([options.signal, timeout.signal]) : timeout.signal;
      try {
        return await readJson(await send('GET', path, { ...options, signal }), signal);
      } finally {
        clearTimeout(timer);
      }
    },
    post: async (path, options = {}) => readJson(await send('POST', path, options), options.signal),
    open: (path, options = {}) => send('GET', path, options),
  };
}

/** The address with a final slash, so that routes are below it. In a browser it may be relative to the page. */
function parseServerUrl(text: string): URL {
  const { location } = globalThis as { location?: { href: string } };
  if (!URL.canParse(text, location?.href))
    throw new RemoteError('usage', `\`${text}\` is not an address of a server; write it as http://127.0.0.1:PORT or https://HOST`);
  const url = new URL(text, location?.href);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new RemoteError('usage', `\`${url.protocol}\` is not supported; the address of a server begins with http:// or https://`);
  if (url.username !== '' || url.password !== '' || url.searchParams.has('token') || /token=/.test(url.hash))
    throw new RemoteError(
      'usage',
      'the address of a server must not contain a token or password: other users of this machine could see it',
    );
  url.search = '';
  url.hash = '';
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

function checkToken(token: string, { protocol, hostname }: URL, insecureHttp: boolean): void {
  if (!/^[\x21-\x7e]+$/.test(token)) throw new RemoteError('usage', 'the token contains spaces or characters that no token has');
  if (protocol === 'https:' || insecureHttp || isLoopback(hostname)) return;
  throw new RemoteError(
    'usage',
    `http:// would send the token to ${hostname} unencrypted, where others on the network can read it; use https://, or an SSH tunnel to a local port`,
  );
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}

function isJson(response: Response): boolean {
  return /^application\/json\b/i.test(response.headers.get('content-type') ?? '');
}

/** The server's own error, or that the answer is not from a Retinue server. */
async function readError(response: Response, url: string): Promise<RemoteError> {
  const { status } = response;
  const retryable = status === 429 || status >= 500;
  const text = isJson(response) ? await response.text().catch(() => '') : '';
  if (!isJson(response)) await response.body?.cancel().catch(() => {});
  const error = parseError(text);
  if (error) return new RemoteError(error.code, error.message, { status, retryable });
  if (retryable)
    return new RemoteError('unreachable', `the server at ${url} answered with status ${status}; try again later`, { status, retryable });
  return notRetinueError(response, url);
}

function parseError(text: string): { code: string; message: string } | null {
  try {
    const { code, message } = (JSON.parse(text) as { error?: { code?: unknown; message?: unknown } }).error ?? {};
    return typeof code === 'string' && typeof message === 'string' ? { code, message } : null;
  } catch {
    return null;
  }
}

export function notRetinueError({ status, headers }: Response, url: string): RemoteError {
  const type = headers.get('content-type')?.split(';')[0] ?? 'no content type';
  return new RemoteError(
    'not_retinue',
    `${url} is not a Retinue server: it answered with status ${status} and ${type}; use the address that \`retinue serve\` prints`,
    { status },
  );
}
