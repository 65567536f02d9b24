// Answers to what is no HTTP request that the application could see, with the same headers as its own answers.
import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { RequestError } from '@hono/node-server';
import { errorToJson, HttpFailure } from './errors.ts';
import { securityHeaders } from './headers.ts';

const reasons: Record<string, [status: number, text: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'Payload Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
};
const headers = { ...securityHeaders, 'Cache-Control': 'no-store' };

/** Node's own answer to a request that it cannot parse has none of the headers. */
export function answerUnreadable(server: Server): void {
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Duplex) => {
    if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const [status, text] = reasons[code] ?? [400, 'Bad Request'];
    const lines = Object.entries({ ...headers, Connection: 'close', 'Content-Length': '0' }).map(([name, value]) => `${name}: ${value}`);
    socket.end(`HTTP/1.1 ${status} ${text}\r\n${lines.join('\r\n')}\r\n\r\n`);
  });
}

/** For what the adapter refuses before the application: a path or host that is not valid, or none. */
export function createAdapterErrorHandler(log: (line: string) => void): (error: unknown) => Response {
  return (error) => {
    if (error instanceof RequestError)
      return Response.json(errorToJson(new HttpFailure('bad_request', 'the path or the host of the request is not valid')), {
        status: 400,
        headers,
      });
    log(`a request failed: ${String((error as Error)?.stack ?? error)}`);
    return Response.json(errorToJson(error), { status: 500, headers });
  };
}
