// Batches over the stdio transport: the answers to the messages of one line are sent together, in one line, when the last of them is there.

export interface Batches {
  /** Reads the messages of a batch; errors that are sent meanwhile are answers of it. */
  read(messages: readonly unknown[], receive: () => void): void;
  /** Keeps an answer to a message of a batch. False if it belongs to none. */
  add(answer: object): boolean;
  /** A request that was cancelled gets no answer. */
  forget(id: unknown): void;
  /** Sends what there is: nothing else will be answered. */
  end(): void;
}

interface Batch {
  /** Requests without an answer. */
  open: Set<unknown>;
  answers: object[];
}

export function createBatches(send: (answers: object[]) => void): Batches {
  const batches = new Set<Batch>();
  let reading: Batch | null = null;

  function sendIfComplete(batch: Batch): void {
    if (batch === reading || batch.open.size > 0) return;
    batches.delete(batch);
    // Notifications alone get no answer.
    if (batch.answers.length > 0) send(batch.answers);
  }

  function close(id: unknown): Batch | null {
    for (const batch of batches) if (batch.open.delete(id)) return batch;
    return null;
  }

  return {
    read(messages, receive) {
      const batch: Batch = { open: new Set(messages.flatMap(getRequestId)), answers: [] };
      batches.add(batch);
      reading = batch;
      receive();
      reading = null;
      sendIfComplete(batch);
    },
    add(answer) {
      if ('method' in answer) return false;
      const batch = close((answer as { id?: unknown }).id) ?? reading;
      batch?.answers.push(answer);
      if (batch) sendIfComplete(batch);
      return batch !== null;
    },
    forget(id) {
      const batch = close(id);
      if (batch) sendIfComplete(batch);
    },
    end() {
      for (const batch of batches) {
        batch.open.clear();
        sendIfComplete(batch);
      }
    },
  };
}

/** Only messages that can be answered by their id. */
function getRequestId(message: unknown): (string | number)[] {
  const { id, method } = (message ?? {}) as { id?: unknown; method?: unknown };
  return typeof method === 'string' && (typeof id === 'string' || Number.isInteger(id)) ? [id as string | number] : [];
}
