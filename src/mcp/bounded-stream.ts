// A response body whose reader may be slow or gone. What it has not read is kept up to a size and for some time; then the stream is cut, so that a
// client that stops reading neither fills the memory nor keeps its session. The client can continue the stream with `Last-Event-ID`.

/** From here on, messages that may be left out are left out. */
const congestedBytes = 65_536;

export interface BoundedStream {
  body: ReadableStream<Uint8Array>;
  isCongested(): boolean;
}

export interface StreamBounds {
  /** A reader with more unread bytes is cut. A single chunk may be larger. */
  maxBytes: number;
  /** A reader that takes nothing for this long, although there is something, is cut with the next chunk. Streams have heartbeats. */
  maxBlockedMs: number;
  now(): number;
}

/** `onEnd` is called once: when the source ends, or when the reader goes away or is cut. */
export function boundStream(
  source: ReadableStream<Uint8Array>,
  { maxBytes, maxBlockedMs, now }: StreamBounds,
  onEnd: () => void,
): BoundedStream {
  const reader = source.getReader();
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let hasEnded = false;
  const end = () => {
    if (!hasEnded) onEnd();
    hasEnded = true;
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
      },
      cancel(reason) {
        end();
        return reader.cancel(reason);
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: congestedBytes }),
  );
  const countQueued = () => congestedBytes - (controller.desiredSize ?? congestedBytes);
  /** Unread bytes after the last chunk, and since when nothing of them was taken. */
  let queued = 0;
  let blockedSince = now();

  function findFault(): string | null {
    const left = countQueued();
    if (left === 0 || left < queued) blockedSince = now();
    if (left > maxBytes) return `the client has not read ${maxBytes} bytes`;
    return now() - blockedSince >= maxBlockedMs ? 'the client has read nothing for too long' : null;
  }

  async function pump(): Promise<void> {
    for (;;) {
      const { done, value } = await reader.read();
      if (hasEnded) return;
      if (done) {
        controller.close();
        return end();
      }
      const fault = findFault();
      if (fault !== null) {
        controller.error(new Error(`${fault}; the stream was cut`));
        end();
        return reader.cancel();
      }
      controller.enqueue(value);
      queued = countQueued();
    }
  }

  void pump().catch((error: unknown) => {
    if (!hasEnded) controller.error(error);
    end();
  });
  return { body, isCongested: () => !hasEnded && countQueued() >= congestedBytes };
}
