// How the parts of an answer reach their reader: pushed, one call each. A web stream between two functions of one process costs more than
// both of them.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';

/** An answer that has begun. `read` is called once; it ends with the answer, and early when the call's signal fires or `take` throws. */
export interface PartSource {
  read(take: (part: LanguageModelV4StreamPart) => void): Promise<void>;
}

/** Rejects when there is no answer: an error status, no connection, an abort. */
export type Open = (options: LanguageModelV4CallOptions) => Promise<PartSource>;

/** Of any model. */
export function openByStream(model: Pick<LanguageModelV4, 'doStream'>): Open {
  return async (options) => {
    const { stream } = await model.doStream(options);
    return { read: (take) => readAll(stream, options.abortSignal, take) };
  };
}

/** Reads to the end or to the abort: a cancelled reader gives `done` at once, even when its source hangs. */
async function readAll<T>(stream: ReadableStream<T>, signal: AbortSignal | undefined, take: (part: T) => void): Promise<void> {
  const reader = stream.getReader();
  const onAbort = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) take(next.value);
  } catch (thrown) {
    void reader.cancel().catch(() => {});
    throw thrown;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

/** The way back, for those who want the AI SDK's interface. What is read ahead is bounded by the bounds of an answer. */
export function streamOf(source: PartSource, cancel: (reason: unknown) => void): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      source
        .read((part) => controller.enqueue(part))
        .then(
          () => controller.close(),
          (thrown) => controller.error(thrown),
        );
    },
    cancel,
  });
}
