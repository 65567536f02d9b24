// Streams an answer that is already complete, in the parts that a provider would send. For the models that make their answers themselves
// (script/ and offline/).
import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';

type Part = LanguageModelV4StreamPart;

export interface ModelAnswerContent {
  content: LanguageModelV4Content[];
  finishReason: LanguageModelV4FinishReason;
  usage: LanguageModelV4Usage;
}

export interface AnswerStreamOptions {
  /** Characters in one delta. */
  chunkSize?: number | undefined;
  /** Waited for before each part. */
  pause?: (() => Promise<void>) | undefined;
  /** Sends half of the answer and then nothing until the call is aborted. */
  hang?: boolean;
  /** Sent after the content, instead of `finish`. */
  error?: Error | undefined;
}

const defaultChunkSize = 64;

/** The stream fails with the signal's reason when that fires, and ends when it is cancelled. */
export function streamAnswer(
  answer: ModelAnswerContent,
  options: AnswerStreamOptions,
  signal: AbortSignal | undefined,
): ReadableStream<Part> {
  const cancelled = new AbortController();
  const stop = signal === undefined ? cancelled.signal : AbortSignal.any([signal, cancelled.signal]);
  const parts = answerToParts(answer, options);
  return new ReadableStream<Part>({
    async pull(controller) {
      try {
        await options.pause?.();
        stop.throwIfAborted();
        const next = parts.next();
        if (!next.done) controller.enqueue(next.value);
        else if (options.hang) await rejectOnAbort(stop);
        else controller.close();
      } catch (error) {
        controller.error(error);
      }
    },
    cancel: (reason) => cancelled.abort(reason),
  });
}

/** Rejects with the signal's reason once it fires; without a signal it stays pending. */
export function rejectOnAbort(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted) reject(signal.reason);
    else signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function* answerToParts(answer: ModelAnswerContent, { chunkSize = defaultChunkSize, hang, error }: AnswerStreamOptions): Generator<Part> {
  yield { type: 'stream-start', warnings: [] };
  const parts = answer.content.flatMap((content, index) => contentToParts(content, String(index), chunkSize));
  yield* hang ? parts.slice(0, Math.ceil(parts.length / 2)) : parts;
  if (hang) return;
  if (error === undefined) yield { type: 'finish', usage: answer.usage, finishReason: answer.finishReason };
  else yield { type: 'error', error };
}

function contentToParts(content: LanguageModelV4Content, id: string, chunkSize: number): Part[] {
  if (content.type === 'text' || content.type === 'reasoning') {
    const { type } = content;
    const deltas = splitText(content.text, chunkSize).map((delta): Part => ({ type: `${type}-delta`, id, delta }));
    return [{ type: `${type}-start`, id }, ...deltas, { type: `${type}-end`, id }];
  }
  if (content.type !== 'tool-call') return [];
  const callId = content.toolCallId;
  const deltas = splitText(content.input, chunkSize).map((delta): Part => ({ type: 'tool-input-delta', id: callId, delta }));
  return [{ type: 'tool-input-start', id: callId, toolName: content.toolName }, ...deltas, { type: 'tool-input-end', id: callId }, content];
}

/** Pieces of `size` characters; no surrogate pair is split. */
function splitText(text: string, size: number): string[] {
  const chars = Array.from(text);
  const pieces: string[] = [];
  for (let start = 0; start < chars.length; start += size) pieces.push(chars.slice(start, start + size).join(''));
  return pieces;
}
