// What stdio and HTTP connections have in common.
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';

/** Larger messages end the connection. */
export const maxMessageBytes = 16 * 1024 * 1024;

/** A connection to a server that is used once, from start to end. */
export interface ServerTransport {
  transport: Transport;
  /** Why the connection ended, and the last line the server wrote to its error output; null if neither is known. May contain secrets. */
  endReason(): string | null;
  /** Ends it, politely first. Resolves when no process or connection is left. */
  end(): Promise<void>;
}
