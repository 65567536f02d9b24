// What an older model answers, as V4 says it.
import type {
  LanguageModelV2Content,
  LanguageModelV2FinishReason,
  LanguageModelV2StreamPart,
  LanguageModelV2Usage,
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';

export type OldPart = LanguageModelV2StreamPart | LanguageModelV3StreamPart;
export interface OldAnswer {
  content: (LanguageModelV2Content | LanguageModelV3Content)[];
  finishReason: OldFinish;
  usage: OldUsage;
}
type OldUsage = LanguageModelV2Usage | LanguageModelV3Usage | undefined;
type OldFinish = LanguageModelV2FinishReason | LanguageModelV3FinishReason;

export function usageOf(usage: OldUsage): LanguageModelV4Usage {
  if (isSplit(usage)) return usage;
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage ?? {};
  return {
    inputTokens: { total: inputTokens, noCache: undefined, cacheRead: cachedInputTokens, cacheWrite: undefined },
    outputTokens: { total: outputTokens, text: undefined, reasoning: reasoningTokens },
  };
}

function isSplit(usage: OldUsage): usage is LanguageModelV3Usage {
  return typeof usage?.inputTokens === 'object' && typeof usage.outputTokens === 'object';
}

/**
 * V2 and V3 have no word for a stream that broke off: it ends as if nothing had happened, only that no reason and no usage was sent. With
 * usage the end was there, and the reason is merely one that the provider package does not know.
 */
export function finishOf(finish: OldFinish, usage: OldUsage): LanguageModelV4FinishReason {
  const { unified, raw } = typeof finish === 'object' ? finish : { unified: finish, raw: undefined };
  const unsaid = raw === undefined && (unified === 'unknown' || (unified === 'other' && typeof finish === 'object'));
  if (unsaid && !Number.isFinite(usageOf(usage).outputTokens.total)) return { unified: 'interrupted', raw };
  return { unified: unified === 'unknown' ? 'other' : unified, raw };
}

export function contentOf(content: OldAnswer['content'][number]): LanguageModelV4Content {
  if (content.type === 'file') return { ...content, data: { type: 'data', data: content.data } };
  return content as LanguageModelV4Content;
}

export function partOf(part: OldPart): LanguageModelV4StreamPart {
  if (part.type === 'file') return { ...part, data: { type: 'data', data: part.data } };
  if (part.type === 'stream-start') return { type: 'stream-start', warnings: [] };
  if (part.type !== 'finish') return part as LanguageModelV4StreamPart;
  return { ...part, finishReason: finishOf(part.finishReason, part.usage), usage: usageOf(part.usage) };
}
