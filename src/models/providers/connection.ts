// A connection to a server for one request at a time, and its time limits.
import type { Dispatcher } from 'undici';

export interface HttpConnection {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  /** After a complete response: the connection may carry the next request. A connection whose request has failed is not released. */
  release(): void;
  /** Ends an attempt to connect. The handler may still get an error. */
  cancel(): void;
}

/** Gives a connection for one request. */
export type TakeConnection = () => HttpConnection;

/** None: the caller of a model has its own. */
export const requestLimits = { headersTimeout: 0, bodyTimeout: 0 };

/**
 * An idle connection is kept for 5 s, as by Node's global agent, or for as long as the server announces, up to 10 minutes, as by `fetch`: between two calls of
 * a model there may be a tool call of a minute. A second less than announced, so that the server does not close a connection that is just being used.
 */
export const idleLimits = { keepAliveTimeout: 5_000, keepAliveMaxTimeout: 600_000, keepAliveTimeoutThreshold: 1_000 };
