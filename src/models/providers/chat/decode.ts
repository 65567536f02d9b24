// Decodes a stream of Chat Completions chunks to the parts that @ai-sdk/openai-compatible would give.
import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import { createFormatError, isPresent, requireOptionalText } from '../event-fields.ts';
import type { Decoder } from '../wire-model.ts';
import { type CallDelta, type CallTracker, createCallTracker, parseCallDeltas } from './tool-calls.ts';

type Take = (part: LanguageModelV4StreamPart) => void;

interface Chunk {
  id?: unknown;
  model?: unknown;
  created?: unknown;
  error?: unknown;
  usage?: unknown;
  choices?: unknown;
}

interface Delta {
  content?: unknown;
  refusal?: unknown;
  reasoning_content?: unknown;
  reasoning?: unknown;
  tool_calls?: unknown;
}

export function createChatDecoder(metadataKey: string) {
  return (take: Take): Decoder => {
    let calls: CallTracker | null = null;
    let hasMetadata = false;
    let finish: string | null = null;
    let isRefusal = false;
    let usage: unknown = null;
    let open: 'text' | 'reasoning' | null = null;

    function send(kind: 'text' | 'reasoning', delta: string): void {
      if (delta === '') return;
      if (open !== kind) {
        close();
        open = kind;
        take({ type: `${kind}-start`, id: ids[kind] });
      }
      take({ type: `${kind}-delta`, id: ids[kind], delta });
    }
    function close(): void {
      if (open) take({ type: `${open}-end`, id: ids[open] });
      open = null;
    }

    function decodeDelta(delta: Delta): void {
      const reasoning = requireOptionalText(delta.reasoning_content) ?? requireOptionalText(delta.reasoning);
      if (reasoning) send('reasoning', reasoning);
      if (typeof delta.content === 'string') send('text', delta.content);
      else if (isPresent(delta.content)) for (const part of parseContent(delta.content)) send(part.kind, part.text);
      if (typeof delta.refusal === 'string' && delta.refusal !== '') {
        isRefusal = true;
        send('text', delta.refusal);
      }
      if (isPresent(delta.tool_calls)) addCalls(parseCallDeltas(delta.tool_calls));
    }

    function addCalls(deltas: CallDelta[]): void {
      if (deltas.length > 0 && open === 'reasoning') close();
      calls ??= createCallTracker(take, metadataKey);
      for (const each of deltas) calls.add(each);
    }

    return {
      event(data) {
        const chunk = (typeof data === 'object' ? data : null) as Chunk | null;
        if (!chunk || !Array.isArray(chunk.choices)) throw chunkError(chunk);
        if (!hasMetadata) hasMetadata = sendMetadata(chunk, take);
        if (chunk.usage) usage = chunk.usage;
        const choice = chunk.choices[0] as { finish_reason?: unknown; delta?: unknown } | null | undefined;
        if (choice === undefined) return;
        if (choice === null || typeof choice !== 'object') throw createFormatError('a choice');
        finish = requireOptionalText(choice.finish_reason) ?? finish;
        if (choice.delta === null || choice.delta === undefined) return;
        if (typeof choice.delta !== 'object') throw createFormatError('a delta');
        decodeDelta(choice.delta as Delta);
      },
      end() {
        if (finish === null) throw Object.assign(new Error('the answer ended without a finish reason'), { name: 'ProviderError' });
        close();
        calls?.end();
        const unified = isRefusal && finish === 'stop' ? 'content-filter' : (finishReasons[finish] ?? 'other');
        take({ type: 'finish', finishReason: { unified, raw: finish }, usage: parseUsage(usage) });
      },
    };
  };
}

const ids = { text: 'txt-0', reasoning: 'reasoning-0' };

const finishReasons: Record<string, 'stop' | 'length' | 'content-filter' | 'tool-calls'> = Object.assign(Object.create(null), {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
  function_call: 'tool-calls',
  tool_calls: 'tool-calls',
});

/** A provider's error inside a stream is passed on unchanged. */
function chunkError(chunk: Chunk | null): unknown {
  const error = chunk?.error as { message?: unknown } | null | undefined;
  return typeof error?.message === 'string' ? error : createFormatError('neither choices nor an error');
}

function sendMetadata({ id, model, created }: Chunk, take: Take): boolean {
  if (!id && !model && !created) return false;
  take({
    type: 'response-metadata',
    ...(typeof id === 'string' ? { id } : {}),
    ...(typeof model === 'string' ? { modelId: model } : {}),
    ...(typeof created === 'number' && created ? { timestamp: new Date(created * 1000) } : {}),
  });
  return true;
}

interface TextPiece {
  kind: 'text' | 'reasoning';
  text: string;
}

/** Content that is not a string: from Mistral, a list of typed parts. */
function parseContent(content: unknown): TextPiece[] {
  if (!Array.isArray(content)) throw createFormatError('the content');
  return content.flatMap((part: { type?: unknown; text?: unknown; thinking?: unknown } | null): TextPiece[] => {
    if (typeof part?.type !== 'string') throw createFormatError('a part of the content');
    if (part.type === 'text' && typeof part.text === 'string') return [{ kind: 'text', text: part.text }];
    if (part.type !== 'thinking' || !Array.isArray(part.thinking)) return [];
    const texts = part.thinking.flatMap((each: { type?: unknown; text?: unknown } | null) =>
      each?.type === 'text' && typeof each.text === 'string' ? [each.text] : [],
    );
    return [{ kind: 'reasoning', text: texts.join('') }];
  });
}

interface ChatUsage {
  prompt_tokens?: unknown;
  completion_tokens?: unknown;
  prompt_tokens_details?: { cached_tokens?: unknown } | null;
  completion_tokens_details?: { reasoning_tokens?: unknown } | null;
}

function parseUsage(given: unknown): LanguageModelV4Usage {
  const usage = (typeof given === 'object' && given !== null ? given : null) as ChatUsage | null;
  const input = usage ? parseCount(usage.prompt_tokens) : undefined;
  const output = usage ? parseCount(usage.completion_tokens) : undefined;
  const cached = parseCount(usage?.prompt_tokens_details?.cached_tokens);
  const reasoning = parseCount(usage?.completion_tokens_details?.reasoning_tokens);
  return {
    inputTokens: { total: input, noCache: subtract(input, cached), cacheRead: usage ? cached : undefined, cacheWrite: undefined },
    outputTokens: { total: output, text: subtract(output, reasoning, 0), reasoning: usage ? reasoning : undefined },
  };
}

/** A missing count is 0; a count that is not a number is unknown. */
function parseCount(value: unknown): number | undefined {
  if (value === null || value === undefined) return 0;
  return typeof value === 'number' ? value : undefined;
}

function subtract(all: number | undefined, part: number | undefined, least = Number.NEGATIVE_INFINITY): number | undefined {
  return all === undefined || part === undefined ? undefined : Math.max(least, all - part);
}
