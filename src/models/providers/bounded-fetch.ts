// The network as the AI SDK's packages see it: `fetch` within the bounds of bounds.ts.
import { type Bounds, createBoundCheck, defaultBounds, refusalOf } from './bounds.ts';

export type Fetch = typeof globalThis.fetch;

export function boundedFetch(fetch: Fetch, bounds: Bounds = defaultBounds): Fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' });
    const { status, headers, url } = response;
    const contentType = headers.get('content-type') ?? '';
    const refusal = refusalOf({ status, contentType, location: headers.get('location') ?? '', url });
    if (refusal) {
      await response.body?.cancel();
      throw refusal;
    }
    if (response.body === null) return response;
    const [line, all] = response.ok ? [bounds.lineBytes, bounds.answerBytes] : [bounds.errorBytes, bounds.errorBytes];
    const body = bounded(response.body, line, all);
    // Streams are read through `body` alone, and a whole new Response for each would cost more than the rest of this.
    if (response.ok && /^text\/event-stream/i.test(contentType)) return Object.defineProperty(response, 'body', { value: body });
    return new Response(body, { status, statusText: response.statusText, headers });
  };
}

/** The stream as long as it keeps its bounds. Read chunk by chunk: a TransformStream would be two streams and a pipe for each call. */
function bounded(body: ReadableStream<Uint8Array>, lineBytes: number, allBytes: number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const check = createBoundCheck(lineBytes, allBytes);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        try {
          check(value);
        } catch (error) {
          void reader.cancel(error).catch(() => {});
          return controller.error(error);
        }
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
