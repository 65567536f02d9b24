// A stream of Chat Completions chunks as parts of a model, as @ai-sdk/openai-compatible tells them.
import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import type { Decoder } from '../own.ts';
import { misshapen, optionalText } from '../shape.ts';
import { callDeltasOf, createCallTracker } from './tool-calls.ts';

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

export function decodeChat(metadataKey: string) {
  return (take: Take): Decoder => {
    const calls = createCallTracker(take, metadataKey);
    let told = false;
    let finish: string | null = null;
    let refused = false;
    let usage: unknown = null;
    let open: 'text' | 'reasoning' | null = null;

    function say(kind: 'text' | 'reasoning', delta: string): void {
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

    function hear(delta: Delta): void {
      const reasoning = optionalText(delta.reasoning_content) ?? optionalText(delta.reasoning);
      if (reasoning) say('reasoning', reasoning);
      for (const part of contentOf(delta.content)) say(part.kind, part.text);
      if (typeof delta.refusal === 'string' && delta.refusal !== '') {
        refused = true;
        say('text', delta.refusal);
      }
      const deltas = callDeltasOf(delta.tool_calls);
      if (deltas.length > 0 && open === 'reasoning') close();
      for (const each of deltas) calls.hear(each);
    }

    return {
      event(data) {
        const chunk = (typeof data === 'object' ? data : null) as Chunk | null;
        if (!chunk || !Array.isArray(chunk.choices)) throw errorOf(chunk);
        if (!told) told = tellOrigin(chunk, take);
        if (chunk.usage) usage = chunk.usage;
        const choice = chunk.choices[0] as { finish_reason?: unknown; delta?: unknown } | null | undefined;
        if (choice === undefined) return;
        if (choice === null || typeof choice !== 'object') throw misshapen('a choice');
        finish = optionalText(choice.finish_reason) ?? finish;
        if (choice.delta === null || choice.delta === undefined) return;
        if (typeof choice.delta !== 'object') throw misshapen('a delta');
        hear(choice.delta as Delta);
      },
      end() {
        if (finish === null) throw Object.assign(new Error('the answer ended without a finish reason'), { name: 'ProviderError' });
        close();
        calls.end();
        const unified = refused && finish === 'stop' ? 'content-filter' : (finishes[finish] ?? 'other');
        take({ type: 'finish', finishReason: { unified, raw: finish }, usage: usageOf(usage) });
      },
    };
  };
}

const ids = { text: 'txt-0', reasoning: 'reasoning-0' };

const finishes: Record<string, 'stop' | 'length' | 'content-filter' | 'tool-calls'> = Object.assign(Object.create(null), {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
  function_call: 'tool-calls',
  tool_calls: 'tool-calls',
});

/** A provider's error inside a stream keeps its own words for what went wrong. */
function errorOf(chunk: Chunk | null): unknown {
  const error = chunk?.error as { message?: unknown } | null | undefined;
  return typeof error?.message === 'string' ? error : misshapen('neither choices nor an error');
}

function tellOrigin({ id, model, created }: Chunk, take: Take): boolean {
  if (!id && !model && !created) return false;
  take({
    type: 'response-metadata',
    ...(typeof id === 'string' ? { id } : {}),
    ...(typeof model === 'string' ? { modelId: model } : {}),
    ...(typeof created === 'number' && created ? { timestamp: new Date(created * 1000) } : {}),
  });
  return true;
}

interface Said {
  kind: 'text' | 'reasoning';
  text: string;
}

/** Content is a text, or a list of typed parts as Mistral sends it. */
function contentOf(content: unknown): Said[] {
  if (!Array.isArray(content)) return [{ kind: 'text', text: optionalText(content) ?? '' }];
  return content.flatMap((part: { type?: unknown; text?: unknown; thinking?: unknown } | null): Said[] => {
    if (typeof part?.type !== 'string') throw misshapen('a part of the content');
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

function usageOf(given: unknown): LanguageModelV4Usage {
  const usage = (typeof given === 'object' && given !== null ? given : null) as ChatUsage | null;
  const input = usage ? numberOf(usage.prompt_tokens) : undefined;
  const output = usage ? numberOf(usage.completion_tokens) : undefined;
  const cached = numberOf(usage?.prompt_tokens_details?.cached_tokens);
  const reasoning = numberOf(usage?.completion_tokens_details?.reasoning_tokens);
  return {
    inputTokens: { total: input, noCache: less(input, cached), cacheRead: usage ? cached : undefined, cacheWrite: undefined },
    outputTokens: { total: output, text: less(output, reasoning, 0), reasoning: usage ? reasoning : undefined },
  };
}

/** A count that is left out is none; one that is no number is unknown. */
function numberOf(value: unknown): number | undefined {
  if (value === null || value === undefined) return 0;
  return typeof value === 'number' ? value : undefined;
}

function less(all: number | undefined, part: number | undefined, least = Number.NEGATIVE_INFINITY): number | undefined {
  return all === undefined || part === undefined ? undefined : Math.max(least, all - part);
}
