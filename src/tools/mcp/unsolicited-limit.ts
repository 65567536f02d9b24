import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

/** What a server may say at once without being asked, and how much of that it may say again in each second. */
const burst = { lines: 10_000, bytes: 64 * 1024 * 1024 };
const perSecond = { lines: 1000, bytes: 8 * 1024 * 1024 };

/** Tells answers to what was sent from everything else that a server says, so that the work which it makes unasked stays bounded. */
export interface Unasked {
  sent(message: JSONRPCMessage): void;
  /** Whether it has said too much; `message` is null for a line that is none. */
  isTooMuch(message: JSONRPCMessage | null, bytes: number): boolean;
}

export function createUnasked(now: () => number): Unasked {
  const asked = new Set<string | number>();
  let at = now();
  let { lines, bytes } = burst;
  return {
    sent(message) {
      if (!('method' in message)) return;
      if ('id' in message) asked.add(message.id);
      // Nobody need answer it any more.
      else if (message.method === 'notifications/cancelled') asked.delete(message.params?.requestId as string | number);
    },
    isTooMuch(message, size) {
      if (message !== null && !('method' in message) && message.id !== undefined && asked.delete(message.id)) return false;
      const seconds = (now() - at) / 1000;
      at += seconds * 1000;
      lines = Math.min(burst.lines, lines + seconds * perSecond.lines) - 1;
      bytes = Math.min(burst.bytes, bytes + seconds * perSecond.bytes) - size;
      return lines < 0 || bytes < 0;
    },
  };
}
