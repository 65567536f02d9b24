// Connects to a server at an address: streamable HTTP, or the older transport with server-sent events if the definition says so.
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { ServerTarget } from './resolve-target.ts';
import { maxMessageBytes, type ServerTransport } from './server-transport.ts';

const terminateMs = 2000;

export async function createHttpTransport({ url, headers, sse }: Extract<ServerTarget, { kind: 'address' }>): Promise<ServerTransport> {
  let reason: string | null = null;
  let opened: Transport | null = null;
  const onBreak = (problem: string) => {
    reason ??= problem;
    // It is closed because it broke; a further error adds nothing.
    void opened?.close().catch(() => {});
  };
  const options = { requestInit: { headers }, fetch: createBoundedFetch(onBreak) };
  const { transport, terminate } = sse ? await createSseTransport(url, options) : await createStreamableTransport(url, options);
  opened = transport;
  return {
    transport,
    endReason: () => reason,
    async end() {
      // A server that is gone cannot be told; the session is over either way.
      await terminate().catch(() => {});
      await transport.close().catch(() => {});
    },
  };
}

type Options = { requestInit: RequestInit; fetch: FetchLike };
type Terminable = { transport: Transport; terminate(): Promise<void> };

async function createStreamableTransport(url: URL, options: Options): Promise<Terminable> {
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const transport = new StreamableHTTPClientTransport(url, options);
  const timeout = () => new Promise<void>((resolve) => setTimeout(resolve, terminateMs).unref());
  return { transport: transport as Transport, terminate: () => Promise.race([transport.terminateSession(), timeout()]) };
}

async function createSseTransport(url: URL, options: Options): Promise<Terminable> {
  const { SSEClientTransport } = await import('@modelcontextprotocol/sdk/client/sse.js');
  return { transport: new SSEClientTransport(url, options) as Transport, terminate: async () => {} };
}

/**
 * Limits the size of messages: each line of an event stream, or the whole of any other response. `onBreak` is called for a message that is too large and
 * for a response to a call that breaks off, because the SDK would wait for the rest of it.
 */
function createBoundedFetch(onBreak: (reason: string) => void): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!response.ok || response.body === null) return response;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const isAnswer = init?.method === 'POST';
    const body = response.body.pipeThrough(
      limitMessageSize(isStream, () => onBreak(`it sent a message of more than ${maxMessageBytes} bytes`)),
    );
    const watched = isAnswer && isStream ? watchForBreak(body, () => !init?.signal?.aborted && onBreak('its response broke off')) : body;
    return new Response(watched, { status: response.status, statusText: response.statusText, headers: response.headers });
  };
}

function limitMessageSize(isStream: boolean, onOverflow: () => void): TransformStream<Uint8Array, Uint8Array> {
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

function watchForBreak(body: ReadableStream<Uint8Array>, onBreak: () => void): ReadableStream<Uint8Array> {
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
