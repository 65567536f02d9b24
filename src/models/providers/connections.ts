// Finds connections to a server, over undici's low-level client.
//
// C1. A request never waits for another one: it uses an idle connection or opens a new one, without a limit.
// C2. Idle connections do not keep the process alive. They are closed before the server does it, as Node's own agent would.
// C3. No time limits except for idle connections: the caller of a model has its own.
import type { Socket } from 'node:net';
import type { buildConnector as Connectors, Dispatcher } from 'undici';
import buildConnector from 'undici/lib/core/connect.js';
import Client from 'undici/lib/dispatcher/client.js';
import { type HttpConnection, idleLimits, requestLimits, type TakeConnection } from './connection.ts';

/** By origin, because several models and accounts may have the same server. */
const known = new Map<string, Promise<TakeConnection>>();

export function findConnections(origin: string): Promise<TakeConnection> {
  const found = known.get(origin) ?? createConnections(origin);
  known.set(origin, found);
  return found;
}

async function createConnections(origin: string): Promise<TakeConnection> {
  if (usesProxy()) return (await import('./proxy-connections.ts')).createProxyConnections(origin);
  const idle: DirectConnection[] = [];
  const connect = buildConnector({ allowH2: false, timeout: 0 }) as Connect;
  // The last one first, so that those that are too many become old and are closed.
  return () => idle.pop() ?? new DirectConnection(origin, connect, idle);
}

/** The declaration of undici's connector hides that it returns the socket. */
type Connect = (options: Connectors.Options, callback: Connectors.Callback) => Socket;

class DirectConnection implements HttpConnection {
  readonly #client: Client;
  readonly #idle: DirectConnection[];
  #socket: Socket | null = null;

  constructor(origin: string, connect: Connect, idle: DirectConnection[]) {
    this.#idle = idle;
    this.#client = new Client(origin, {
      ...requestLimits,
      ...idleLimits,
      allowH2: false,
      maxHeaderSize,
      connect: (options: Connectors.Options, callback: Connectors.Callback) => {
        this.#socket = connect(options, callback);
      },
    });
    this.#client.on('disconnect', () => {
      const index = idle.indexOf(this);
      if (index !== -1) idle.splice(index, 1);
    });
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(options, handler);
  }

  release(): void {
    this.#idle.push(this);
  }

  cancel(): void {
    // undici itself would wait until the connection is there.
    this.#socket?.destroy();
    void this.#client.destroy(null);
  }
}

/** Four times Node's default, which undici would load `node:http` for. */
const maxHeaderSize = 64 * 1024;

/** Whether Node was told to use the proxies of the environment, by a variable, a flag or a function of `node:http`. */
function usesProxy(): boolean {
  const names = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'];
  // Node's agents know best, but loading them takes a few milliseconds.
  if (names.every((name) => !process.env[name])) return false;
  const { globalAgent } = process.getBuiltinModule('node:http') as { globalAgent: { options?: { proxyEnv?: unknown } } };
  return globalAgent.options?.proxyEnv !== undefined;
}
