// The same server behind an address on this machine: streamable HTTP, and the older transport with server-sent events.
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { createServer, plainTools } from './mcp-server.ts';

export interface HttpServer {
  url: string;
  /** What came in, without bodies. */
  requests: { method: string; headers: IncomingMessage['headers'] }[];
  /** Forgets every session, as a server that was started anew. */
  forget(): void;
  /** Cuts all connections in the middle of what they are doing. */
  cut(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export type Handle = (request: IncomingMessage, response: ServerResponse) => unknown;

export async function serveHttp({
  kind = 'stream',
  json = false,
  before,
}: {
  kind?: 'stream' | 'sse';
  json?: boolean;
  before?: Handle;
} = {}) {
  const requests: HttpServer['requests'] = [];
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  let events: SSEServerTransport | null = null;
  const stream: Handle = async (request, response) => {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (id !== undefined && !known) return void response.writeHead(404).end();
    const transport =
      known ??
      new StreamableHTTPServerTransport({
        sessionIdGenerator: () => `s${sessions.size}`,
        enableJsonResponse: json,
        onsessioninitialized: (made) => void sessions.set(made, transport),
      });
    if (!known) await createServer(plainTools).connect(transport as Transport);
    return void (await transport.handleRequest(request, response));
  };
  const sse: Handle = async (request, response) => {
    if (request.method !== 'GET') return void (await events?.handlePostMessage(request, response));
    events = new SSEServerTransport('/messages', response);
    return void (await createServer(plainTools).connect(events));
  };
  const http = createHttp((request, response) => {
    requests.push({ method: request.method ?? '', headers: request.headers });
    if (before?.(request, response) === true) return;
    void Promise.resolve((kind === 'sse' ? sse : stream)(request, response)).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const made: HttpServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    requests,
    forget: () => sessions.clear(),
    cut: () => http.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return made;
}
