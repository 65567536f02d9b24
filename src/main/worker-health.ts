// Health checks of a worker: whether the process lives, and whether it takes trees.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RetinueError } from '../contract/error.ts';
import type { WorkerStatus } from '../worker/worker.ts';

export interface HealthServer {
  url: string;
  close(): Promise<void>;
}

/**
 * `/readyz` fails with 503 before the worker has started (`null`), while the queue cannot be read and when the worker stops. Rejects with `usage` if the
 * address cannot be used.
 */
export async function serveHealth(
  { host, port }: { host: string; port: number },
  getStatus: () => WorkerStatus | null,
): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET' || (path !== '/healthz' && path !== '/readyz')) return void response.writeHead(404).end();
    if (path === '/healthz') return void response.writeHead(200, { 'content-type': 'text/plain' }).end('ok\n');
    const status = getStatus();
    const isReady = status?.isReady === true;
    const body = JSON.stringify({ ready: isReady, stopping: status?.isStopping ?? false, trees: status?.trees.length ?? 0 });
    response.writeHead(isReady ? 200 : 503, { 'content-type': 'application/json' }).end(`${body}\n`);
  });
  server.headersTimeout = 5_000;
  server.requestTimeout = 5_000;
  server.maxConnections = 64;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(new RetinueError('usage', `--health: ${host}:${port} cannot be used: ${error.message}`)));
    server.listen(port, host, resolve);
  });
  const { port: actual } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
