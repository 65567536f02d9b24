// `fetch` for the AI SDK's packages, within the limits of bounds.ts.
import { type Bounds, createBoundCheck, defaultBounds, findRefusal } from './bounds.ts';

export type Fetch = typeof globalThis.fetch;

export function createBoundedFetch(fetch: Fetch, bounds: Bounds = defaultBounds): Fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' });
    const { status, headers, url } = response;
    const contentType = headers.get('content-type') ?? '';
    const refusal = findRefusal({ status, contentType, location: headers.get('location') ?? '', url });
    if (refusal) {
      await response.body?.cancel();
      throw refusal;
    }
    if (response.body === null) return response;
    const [line, all] = response.ok ? [bounds.lineBytes, bounds.answerBytes] : [bounds.errorBytes, bounds.errorBytes];
    const body = boundStream(response.body, line, all);
    // Event streams are read through `body` only; a new Response for each would cost more than everything else here.
    if (response.ok && /^text\/event-stream/i.test(contentType)) return Object.defineProperty(response, 'body', { value: body });
    return new Response(body, { status, statusText: response.statusText, headers });
  };
}

/** Fails the stream when it exceeds a limit. A TransformStream would cost two streams and a pipe for each call. */
function boundStream(body: ReadableStream<Uint8Array>, lineBytes: number, allBytes: number): ReadableStream<Uint8Array> {
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
          void reader.cancel(error).catch(() => {}); // The reader gets `error`; a failing cancel adds nothing.
          return controller.error(error);
        }
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
