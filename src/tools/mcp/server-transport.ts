import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';

/** More than this in one message is not read. */
export const maxMessageBytes = 16 * 1024 * 1024;

/** A way to a server that is used once: from its start to its end. */
export interface Wire {
  transport: Transport;
  /** What the other side said about why it ended, or the last it said at all; null where it said nothing. May hold secrets. */
  lastWords(): string | null;
  /** Ends it, politely first; resolves when nothing of it is left. */
  end(): Promise<void>;
}
