// Answers in one piece (`doGenerate`), as the parts of a stream. A model whose `doGenerate` does not work is noticed at its first call and streams from then on.
import type { LanguageModelV4, LanguageModelV4Content, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { type StopSignal, toAbortSignal } from '../../ports/stop.ts';
import { findStatus } from '../failure.ts';
import type { PartSource, SourceOptions } from './part-source.ts';

/** Null if the model only streams. Rejects if there is no answer. */
export function openModelWhole(model: LanguageModelV4): (options: SourceOptions, signal: StopSignal) => Promise<PartSource | null> {
  let hasAnswered = false;
  let onlyStreams = typeof model.doGenerate !== 'function';
  return async (options, signal) => {
    if (onlyStreams) return null;
    try {
      const { content, finishReason, usage } = await model.doGenerate({ ...options, abortSignal: toAbortSignal(signal) });
      hasAnswered = true;
      const parts = [...content.flatMap(contentToParts), { type: 'finish' as const, finishReason, usage }];
      return { read: async (take) => parts.forEach(take) };
    } catch (thrown) {
      // An answer of the provider, even a refusal, shows that the model can do it.
      if (hasAnswered || signal.aborted || findStatus(thrown as Record<string, unknown>) !== null) throw thrown;
      onlyStreams = true;
      return null;
    }
  };
}

function contentToParts(content: LanguageModelV4Content, index: number): LanguageModelV4StreamPart[] {
  if (content.type === 'tool-call') return [content];
  if (content.type !== 'text' && content.type !== 'reasoning') return [];
  const { type, text, providerMetadata } = content;
  const id = String(index);
  const meta = providerMetadata === undefined ? {} : { providerMetadata };
  return [
    { type: `${type}-start`, id, ...meta },
    { type: `${type}-delta`, id, delta: text },
    { type: `${type}-end`, id },
  ];
}
