// Over which stream a question reaches an HTTP client: that of a tool call which waits, or the one that the client keeps open for messages. If there
// is neither, the question waits for one; meanwhile it can be answered elsewhere.
import type { RequestId } from '@modelcontextprotocol/sdk/types.js';

export interface QuestionRoute {
  beginCall(id: RequestId): void;
  endCall(id: RequestId): void;
  /** Returns a function for the end of the stream. */
  openStream(): () => void;
  /** The call whose stream carries the question; null for the stream for messages. Rejects when the signal fires. */
  find(signal: AbortSignal): Promise<RequestId | null>;
}

export function createQuestionRoute(): QuestionRoute {
  const calls = new Set<RequestId>();
  const waiters = new Set<() => void>();
  let streams = 0;
  const notify = () => {
    for (const wake of waiters) wake();
    waiters.clear();
  };
  return {
    beginCall(id) {
      calls.add(id);
      notify();
    },
    endCall: (id) => void calls.delete(id),
    openStream() {
      streams++;
      notify();
      return () => void streams--;
    },
    async find(signal) {
      for (;;) {
        signal.throwIfAborted();
        const newest = [...calls].at(-1);
        if (newest !== undefined) return newest;
        if (streams > 0) return null;
        await new Promise<void>((resolve) => {
          waiters.add(resolve);
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
    },
  };
}
