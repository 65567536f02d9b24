// The network as the providers see it: `fetch` with a bound on what comes back.
//
// F1. No line and no answer is read past its limit: a provider that never ends a line costs a few megabytes and gets a typed failure.
// F2. A page for a browser is no answer: the address is wrong, and asking again does not mend it.
// F3. A redirect is not followed: fetch would carry `x-api-key` along to another host.
import { RetinueError } from '../../contract/error.ts';

export type Fetch = typeof globalThis.fetch;

export interface Bounds {
  lineBytes: number;
  answerBytes: number;
  /** For answers that only say what went wrong. */
  errorBytes: number;
}

const mib = 1024 * 1024;
export const defaultBounds: Bounds = { lineBytes: 16 * mib, answerBytes: 64 * mib, errorBytes: mib };

export function boundedFetch(fetch: Fetch, bounds: Bounds = defaultBounds): Fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' });
    if (response.status >= 300 && response.status < 400) throw await redirected(response);
    if (response.ok && /^text\/html/i.test(response.headers.get('content-type') ?? ''))
      throw await refused(response, 'there is a web page at the base address, not a provider');
    if (response.body === null) return response;
    const [line, all] = response.ok ? [bounds.lineBytes, bounds.answerBytes] : [bounds.errorBytes, bounds.errorBytes];
    const body = bounded(response.body, line, all);
    // Streams are read through `body` alone, and a whole new Response for each would cost more than the rest of this.
    if (response.ok && /^text\/event-stream/i.test(response.headers.get('content-type') ?? '')) {
      return Object.defineProperty(response, 'body', { value: body });
    }
    return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers });
  };
}

const newline = 10;

/** The stream as long as it keeps its bounds. Read chunk by chunk: a TransformStream would be two streams and a pipe for each call. */
function bounded(body: ReadableStream<Uint8Array>, lineBytes: number, allBytes: number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let all = 0;
  let line = 0;

  function excess(chunk: Uint8Array): RetinueError | null {
    all += chunk.length;
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1 && line <= lineBytes; end = chunk.indexOf(newline, from)) {
      line += end - from;
      if (line > lineBytes) break;
      line = 0;
      from = end + 1;
    }
    line += chunk.length - from;
    if (line > lineBytes) return tooLarge('a line of the answer', lineBytes);
    return all > allBytes ? tooLarge('the answer', allBytes) : null;
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        const error = excess(value);
        if (error === null) return controller.enqueue(value);
        void reader.cancel(error).catch(() => {});
        controller.error(error);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function tooLarge(what: string, limit: number): RetinueError {
  return new RetinueError('provider', `${what} is larger than ${limit} bytes`);
}

function redirected(response: Response): Promise<RetinueError> {
  const to = URL.parse(response.headers.get('location') ?? '', response.url || undefined);
  const where = to === null ? '' : ` to ${to.origin}`;
  return refused(response, `the provider redirects${where}; set the base address to where it really is`);
}

async function refused(response: Response, message: string): Promise<RetinueError> {
  await response.body?.cancel();
  return new RetinueError('provider', message);
}
