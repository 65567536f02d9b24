// Puts the application on a socket, with or without TLS, and takes it off again.
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { getRequestListener } from '@hono/node-server';
import { RetinueError } from '../contract/error.ts';
import { type AppOptions, createServerApp } from './app.ts';
import { answerUnreadable, createAdapterErrorHandler } from './bad-request.ts';
import { listOwnHosts, listPublicHosts } from './check-origin.ts';

export interface ListenOptions extends Omit<AppOptions, 'own' | 'port'> {
  host: string;
  port: number;
  tls: { cert: string; key: string } | null;
  /** The address that browsers use; null: the one that it listens on. */
  publicUrl: URL | null;
  /** A proxy in front of the server does TLS. */
  behindProxy: boolean;
}

export interface HttpServer {
  /** Origin without a trailing slash. */
  url: string;
  port: number;
  /** Accepts no more requests, ends streams, and waits for requests that are being answered, up to a bound. */
  close(): Promise<void>;
}

/** Requests that are still being answered after this time are cut. */
const closeMs = 2_000;
const loopbackNames = ['127.0.0.1', 'localhost', '::1'];

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** Rejects with `usage` if the address cannot be used. */
export async function listen(options: ListenOptions): Promise<HttpServer> {
  const { host, tls, publicUrl, behindProxy } = options;
  const server = createNodeServer(tls);
  const port = await bind(server, options);
  const scheme = tls === null ? 'http' : 'https';
  const hosts = listOwnHosts(ownNames(host), { port, scheme });
  const publicHosts = publicUrl === null ? new Set<string>() : listPublicHosts(publicUrl);
  const own = { hosts, publicHosts, scheme, publicOrigin: publicUrl?.origin ?? null } as const;
  const { app, events, leave } = createServerApp({ ...options, own, port: publicUrl?.port || port });
  const errorHandler = createAdapterErrorHandler(options.log);
  server.on('request', getRequestListener(app.fetch, { overrideGlobalObjects: false, errorHandler }));
  answerUnreadable(server);
  const shownHost = isIPv6(host) ? `[${host}]` : host === 'localhost' ? '127.0.0.1' : host;
  return {
    url: publicUrl !== null && (behindProxy || !isLoopback(host)) ? publicUrl.origin : `${scheme}://${shownHost}:${port}`,
    port,
    async close() {
      leave();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      events.close();
      await Promise.all((options.mounts ?? []).map((mount) => mount.close()));
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), closeMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

function createNodeServer(tls: ListenOptions['tls']): Server {
  // A request without a host is answered by the adapter, with the headers of every answer.
  const options = { requireHostHeader: false };
  if (tls === null) return createServer(options);
  try {
    return createTlsServer({ ...options, ...tls, minVersion: 'TLSv1.2' });
  } catch (error) {
    throw new RetinueError(
      'usage',
      `the TLS certificate or its key cannot be used: ${(error as Error).message}; --tls-cert and --tls-key are PEM files that belong together`,
    );
  }
}

/** Names by which clients can reach the server. A server on all interfaces has the addresses of all of them. */
function ownNames(host: string): string[] {
  if (isLoopback(host)) return [...new Set([...loopbackNames, host])];
  if (host !== '0.0.0.0' && host !== '::') return [host];
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return [...loopbackNames, ...addresses.map(({ address }) => address.replace(/%.*$/, ''))];
}

function bind(server: Server, { host, port }: Pick<ListenOptions, 'host' | 'port'>): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new RetinueError('usage', describeBindError(error, host, port), { cause: error })),
    );
    server.listen(port, host === 'localhost' ? '127.0.0.1' : host, () => resolve((server.address() as { port: number }).port));
  });
}

function describeBindError({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  if (code === 'EADDRINUSE') return `port ${port} of ${host} is in use; choose another one with --port, or omit it for a free one`;
  if (code === 'EACCES') return `port ${port} needs more rights than yours; choose one from 1024 to 65535`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `this machine has no address ${host}; give one of its own with --host`;
  return `cannot listen on ${host}:${port}: ${message}`;
}
