// Connections through the proxies of the environment, by undici's agent for them: the same as `fetch` uses. Loaded only where there are proxies.
import connect from 'undici/lib/api/api-connect.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js';
import { type HttpConnection, idleLimits, requestLimits, type TakeConnection } from './connection.ts';

// The index of undici does this, but loads much more. The agent needs it for tunnels.
Dispatcher.prototype.connect ??= connect;

/** An attempt to connect through the agent cannot be cancelled, so that it must end without the caller. */
const connectTimeout = 30_000;

export function createProxyConnections(origin: string): TakeConnection {
  const agent = new EnvHttpProxyAgent({ ...idleLimits, allowH2: false, connectTimeout });
  const connection: HttpConnection = {
    // With the limits, because the agent does not give its own to all its clients.
    dispatch: (options, handler) => void agent.dispatch({ ...options, ...requestLimits, origin }, handler),
    release: () => {},
    cancel: () => {},
  };
  return () => connection;
}
