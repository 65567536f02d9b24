import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Target } from './resolve-target.ts';
import { maxMessageBytes, type Wire } from './server-transport.ts';

const byeMs = 2000;

/** A server at an address: streamable HTTP, or the older transport with server-sent events where the definition says so. */
export async function httpWire({ url, headers, sse }: Extract<Target, { kind: 'address' }>): Promise<Wire> {
  let why: string | null = null;
  let made: Transport | null = null;
  const broke = (reason: string) => {
    why ??= reason;
    void made?.close().catch(() => {});
  };
  const options = { requestInit: { headers }, fetch: boundedFetch(broke) };
  const { transport, bye } = sse ? await eventTransport(url, options) : await streamTransport(url, options);
  made = transport;
  return {
    transport,
    lastWords: () => why,
    async end() {
      await bye().catch(() => {});
      await transport.close().catch(() => {});
    },
  };
}

type Options = { requestInit: RequestInit; fetch: FetchLike };

async function streamTransport(url: URL, options: Options): Promise<{ transport: Transport; bye(): Promise<void> }> {
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const made = new StreamableHTTPClientTransport(url, options);
  // A server that does not answer even this is left alone.
  const bye = () => Promise.race([made.terminateSession(), new Promise<void>((resolve) => setTimeout(resolve, byeMs).unref())]);
  return { transport: made as Transport, bye };
}

async function eventTransport(url: URL, options: Options): Promise<{ transport: Transport; bye(): Promise<void> }> {
  const { SSEClientTransport } = await import('@modelcontextprotocol/sdk/client/sse.js');
  return { transport: new SSEClientTransport(url, options) as Transport, bye: async () => {} };
}

/**
 * No message larger than our measure is read: of a stream of events each line is held against it, of any other answer the whole. `broke`
 * hears of that, and of an answer to a call that broke off: the SDK itself would wait for the rest of it.
 */
function boundedFetch(broke: (reason: string) => void): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!response.ok || response.body === null) return response;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const isAnswer = init?.method === 'POST';
    const body = response.body.pipeThrough(measure(isStream, () => broke(`it sent a message of more than ${maxMessageBytes} bytes`)));
    const watched = isAnswer && isStream ? watch(body, () => !init?.signal?.aborted && broke('its answer broke off')) : body;
    return new Response(watched, { status: response.status, statusText: response.statusText, headers: response.headers });
  };
}

function measure(isStream: boolean, onOverflow: () => void): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const end = isStream ? chunk.lastIndexOf(10) : -1;
      size = end === -1 ? size + chunk.length : chunk.length - end - 1;
      if (size <= maxMessageBytes) return controller.enqueue(chunk);
      controller.error(new Error('the message is too large'));
      onOverflow();
    },
  });
}

function watch(body: ReadableStream<Uint8Array>, onBreak: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        onBreak();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
