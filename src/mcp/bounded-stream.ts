// A response body whose reader may be slow. What it has not read is kept up to a limit; then the stream is cut, so that a client that stops
// reading does not fill the memory. The client can continue the stream with `Last-Event-ID`.

/** From here on, messages that may be left out are left out. */
const congestedBytes = 65_536;

export interface BoundedStream {
  body: ReadableStream<Uint8Array>;
  isCongested(): boolean;
}

/** `onEnd` is called once: when the source ends, or when the reader goes away or is cut. A single chunk larger than the limit is delivered. */
export function boundStream(source: ReadableStream<Uint8Array>, maxBytes: number, onEnd: () => void): BoundedStream {
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

  async function pump(): Promise<void> {
    for (;;) {
      const { done, value } = await reader.read();
      if (hasEnded) return;
      if (done) {
        controller.close();
        return end();
      }
      if (countQueued() > maxBytes) {
        controller.error(new Error(`the client has not read ${maxBytes} bytes; the stream was cut`));
        end();
        return reader.cancel();
      }
      controller.enqueue(value);
    }
  }

  void pump().catch((error: unknown) => {
    if (!hasEnded) controller.error(error);
    end();
  });
  return { body, isCongested: () => !hasEnded && countQueued() >= congestedBytes };
}
