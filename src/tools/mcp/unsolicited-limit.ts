// Bounds what a server sends without being asked.
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

/** How much unsolicited output a server may send at once, and how much of that allowance it regains each second. */
const burst = { lines: 10_000, bytes: 64 * 1024 * 1024 };
const perSecond = { lines: 1000, bytes: 8 * 1024 * 1024 };

/** Separates answers to our requests from everything else a server sends, to bound the work that it can cause. */
export interface UnsolicitedLimit {
  noteSent(message: JSONRPCMessage): void;
  /** Counts what the server sent; `message` is null for a line that is not a message. Returns whether the limit is now exceeded. */
  countReceived(message: JSONRPCMessage | null, bytes: number): boolean;
}

export function createUnsolicitedLimit(now: () => number): UnsolicitedLimit {
  const openRequests = new Set<string | number>();
  let at = now();
  let { lines, bytes } = burst;
  return {
    noteSent(message) {
      if (!('method' in message)) return;
      if ('id' in message) openRequests.add(message.id);
      // A cancelled request needs no answer.
      else if (message.method === 'notifications/cancelled') openRequests.delete(message.params?.requestId as string | number);
    },
    countReceived(message, size) {
      if (message !== null && !('method' in message) && message.id !== undefined && openRequests.delete(message.id)) return false;
      const seconds = (now() - at) / 1000;
      at += seconds * 1000;
      lines = Math.min(burst.lines, lines + seconds * perSecond.lines) - 1;
      bytes = Math.min(burst.bytes, bytes + seconds * perSecond.bytes) - size;
      return lines < 0 || bytes < 0;
    },
  };
}
