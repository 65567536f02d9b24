// A connection to a server for one request at a time, and its time limits.
import type { Dispatcher } from 'undici';

export interface Connection {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  /** After a complete response: the connection may carry the next request. A connection whose request has failed is not released. */
  release(): void;
  /** Ends an attempt to connect. The handler may still get an error. */
  cancel(): void;
}

/** Gives a connection for one request. */
export type TakeConnection = () => Connection;

/** None: the caller of a model has its own. */
export const requestLimits = { headersTimeout: 0, bodyTimeout: 0 };

/** Those of Node's global agent. The timeout of a server is shortened by a second, so that it does not close a connection that is just being used. */
export const idleLimits = { keepAliveTimeout: 5000, keepAliveMaxTimeout: 5000, keepAliveTimeoutThreshold: 1000 };
