// Passes the parts of an answer to their reader by plain function calls. A web stream between two functions of one process would cost more than
// both of them.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { type StopSignal, toAbortSignal } from '../../ports/stop.ts';

/** An answer that has begun. `read` may be called once. It ends with the answer, or early when the call's signal fires or `take` throws. */
export interface PartSource {
  read(take: (part: LanguageModelV4StreamPart) => void): Promise<void>;
}

/** What a model is asked for; the signal is passed separately. */
export type SourceOptions = Omit<LanguageModelV4CallOptions, 'abortSignal'>;

/** Rejects if there is no answer: an error status, no connection, a fired signal. */
export type OpenSource = (options: SourceOptions, signal: StopSignal) => Promise<PartSource>;

export function openModelStream(model: Pick<LanguageModelV4, 'doStream'>): OpenSource {
  return async (options, signal) => {
    const { stream } = await model.doStream({ ...options, abortSignal: toAbortSignal(signal) });
    return { read: (take) => readStream(stream, signal, take) };
  };
}

/** Reads to the end or to the abort: a cancelled reader is `done` at once, even if its source hangs. */
async function readStream<T>(stream: ReadableStream<T>, signal: StopSignal, take: (part: T) => void): Promise<void> {
  const reader = stream.getReader();
  const onAbort = () => void reader.cancel(signal.reason).catch(() => {}); // The call rejects with the signal's reason anyway.
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) take(next.value);
  } catch (thrown) {
    void reader.cancel().catch(() => {}); // `thrown` is the error to report, not a failing cancel.
    throw thrown;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** For callers of the AI SDK's interface. What is read ahead is bounded by the limits of an answer. */
export function sourceToStream(source: PartSource, cancel: (reason: unknown) => void): ReadableStream<LanguageModelV4StreamPart> {
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
