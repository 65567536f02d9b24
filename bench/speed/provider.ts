// The provider of the speed benchmark, in a process of its own. Addresses are `/<milliseconds>/v1/chat/completions`. It is cheap, so that on two cores the
// client is what is measured.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { findAnswer, isStreamed } from './answers.ts';

function send(response: ServerResponse, body: string): void {
  const { streamed, whole } = findAnswer(body);
  const isStream = isStreamed(body);
  const bytes = isStream ? streamed : whole;
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json', 'content-length': bytes.length });
  response.end(bytes);
}

const server = createServer((request, response) => {
  const delay = Number(/^\/(\d+)\//.exec(request.url ?? '')?.[1] ?? 0);
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString('latin1');
    if (delay === 0) send(response, body);
    else setTimeout(send, delay, response, body);
  });
});
// Longer than the turns of the other programs, and short enough that thousands of idle connections of each do not use up the limit of open files.
server.keepAliveTimeout = 15_000;
server.on('connection', (socket) => socket.setNoDelay(true));
server.listen({ port: 0, host: '127.0.0.1', backlog: 8192 }, () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
// Reports when the next request arrives, for the time from the start of a program to its first request.
process.on('message', () => {
  server.once('request', () => process.send?.({ requestAt: performance.timeOrigin + performance.now() }));
});
process.on('disconnect', () => process.exit(0));
