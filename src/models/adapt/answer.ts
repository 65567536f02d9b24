// What an older model answers, converted to V4.
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

export function convertUsage(usage: OldUsage): LanguageModelV4Usage {
  if (isSplitUsage(usage)) return usage;
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage ?? {};
  return {
    inputTokens: { total: inputTokens, noCache: undefined, cacheRead: cachedInputTokens, cacheWrite: undefined },
    outputTokens: { total: outputTokens, text: undefined, reasoning: reasoningTokens },
  };
}

function isSplitUsage(usage: OldUsage): usage is LanguageModelV3Usage {
  return typeof usage?.inputTokens === 'object' && typeof usage.outputTokens === 'object';
}

/**
 * V2 and V3 have no finish reason for a stream that broke off: it just ends without a reason and without usage. If usage was sent, the stream
 * did end, and the package merely does not know the reason.
 */
export function convertFinish(finish: OldFinish, usage: OldUsage): LanguageModelV4FinishReason {
  const { unified, raw } = typeof finish === 'object' ? finish : { unified: finish, raw: undefined };
  const isUnknown = raw === undefined && (unified === 'unknown' || (unified === 'other' && typeof finish === 'object'));
  if (isUnknown && !Number.isFinite(convertUsage(usage).outputTokens.total)) return { unified: 'interrupted', raw };
  return { unified: unified === 'unknown' ? 'other' : unified, raw };
}

export function convertContent(content: OldAnswer['content'][number]): LanguageModelV4Content {
  if (content.type === 'file') return { ...content, data: { type: 'data', data: content.data } };
  return content as LanguageModelV4Content;
}

export function convertPart(part: OldPart): LanguageModelV4StreamPart {
  if (part.type === 'file') return { ...part, data: { type: 'data', data: part.data } };
  if (part.type === 'stream-start') return { type: 'stream-start', warnings: [] };
  if (part.type !== 'finish') return part as LanguageModelV4StreamPart;
  return { ...part, finishReason: convertFinish(part.finishReason, part.usage), usage: convertUsage(part.usage) };
}
