import type { LanguageModelV4Content, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { Clock } from '../../ports/clock.ts';
import type { Answer } from './answer.ts';

type Part = LanguageModelV4StreamPart;

const defaultChunk = 64;

/** How an answer is cut into pieces and where it breaks off. */
export interface Course {
  chunkSize: number | undefined;
  /** Half of the answer comes, then nothing until the call is given up. */
  hang: boolean;
  /** Comes after the answer, in the place of its finish. */
  error: Error | undefined;
}

/** The parts of an answer, as a provider would send them. Errors with the signal's reason when that fires; ends on cancel. */
export function streamOf(answer: Answer, course: Course, signal: AbortSignal | undefined): ReadableStream<Part> {
  const cancelled = new AbortController();
  const given = signal === undefined ? cancelled.signal : AbortSignal.any([signal, cancelled.signal]);
  const parts = partsOf(answer, course);
  return new ReadableStream<Part>({
    async pull(controller) {
      try {
        given.throwIfAborted();
        const next = parts.next();
        if (!next.done) controller.enqueue(next.value);
        else if (course.hang) await aborted(given);
        else controller.close();
      } catch (error) {
        controller.error(error);
      }
    },
    cancel: (reason) => cancelled.abort(reason),
  });
}

/** Rejects with the signal's reason once it fires; without a signal never. */
export function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted) reject(signal.reason);
    else signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Resolves after `ms` on the clock; rejects with the signal's reason if that fires first. */
export function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.at(clock.monotonic() + ms, () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    });
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}

function* partsOf(answer: Answer, course: Course): Generator<Part> {
  yield { type: 'stream-start', warnings: [] };
  const parts = answer.content.flatMap((content, index) => pieces(content, String(index), course.chunkSize ?? defaultChunk));
  yield* course.hang ? parts.slice(0, Math.ceil(parts.length / 2)) : parts;
  if (course.hang) return;
  if (course.error === undefined) yield { type: 'finish', usage: answer.usage, finishReason: answer.finishReason };
  else yield { type: 'error', error: course.error };
}

function pieces(content: LanguageModelV4Content, id: string, size: number): Part[] {
  if (content.type === 'text' || content.type === 'reasoning') {
    const { type } = content;
    const deltas = chunks(content.text, size).map((delta): Part => ({ type: `${type}-delta`, id, delta }));
    return [{ type: `${type}-start`, id }, ...deltas, { type: `${type}-end`, id }];
  }
  if (content.type !== 'tool-call') return [];
  const callId = content.toolCallId;
  const deltas = chunks(content.input, size).map((delta): Part => ({ type: 'tool-input-delta', id: callId, delta }));
  return [{ type: 'tool-input-start', id: callId, toolName: content.toolName }, ...deltas, { type: 'tool-input-end', id: callId }, content];
}

/** Pieces of `size` characters; none is halved. */
function chunks(text: string, size: number): string[] {
  const chars = Array.from(text);
  const result: string[] = [];
  for (let start = 0; start < chars.length; start += size) result.push(chars.slice(start, start + size).join(''));
  return result;
}
