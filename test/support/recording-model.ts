// A model made of prepared answers that keeps what it was asked. It gives the same answers whole (doGenerate) and in pieces (doStream).
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import type { ModelHandle } from '../../src/ports/model.ts';

export type Part = Extract<LanguageModelV4Content, { type: 'text' | 'reasoning' | 'tool-call' }>;
export interface PreparedAnswer {
  parts: Part[];
  finish?: LanguageModelV4FinishReason['unified'];
}

export const text = (value: string, meta?: object): Part => ({ type: 'text', text: value, ...metaOf(meta) });
export const reasoning = (value: string, meta?: object): Part => ({ type: 'reasoning', text: value, ...metaOf(meta) });
export const call = (id: string, tool: string, input: object | string, meta?: object): Part => ({
  type: 'tool-call',
  toolCallId: id,
  toolName: tool,
  input: typeof input === 'string' ? input : JSON.stringify(input),
  ...metaOf(meta),
});

function metaOf(meta: object | undefined) {
  return meta === undefined ? {} : { providerMetadata: meta as Record<string, Record<string, never>> };
}

export const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

/** `asked` holds the options of each call, copied as they were at that moment. */
export function recordingModel(answers: PreparedAnswer[]): { model: LanguageModelV4; asked: LanguageModelV4CallOptions[] } {
  const asked: LanguageModelV4CallOptions[] = [];
  function next(options: LanguageModelV4CallOptions): PreparedAnswer {
    const { abortSignal: _, ...rest } = options;
    const answer = answers[asked.push(structuredClone(rest)) - 1];
    if (!answer) throw Object.assign(new Error('no answer is left'), { isRetryable: false });
    return answer;
  }
  const model = baseModel({
    async doStream(options) {
      return { stream: streamOf(partsOf(next(options))) };
    },
    async doGenerate(options) {
      const answer = next(options);
      return { content: answer.parts, finishReason: finishOf(answer), usage, warnings: [] };
    },
  });
  return { model, asked };
}

export function baseModel(does: Partial<LanguageModelV4>): LanguageModelV4 {
  const unused = async () => {
    throw new Error('not to be called');
  };
  return {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'test',
    supportedUrls: {},
    doGenerate: unused,
    doStream: unused,
    ...does,
  };
}

export function handleOf(model: LanguageModelV4, more: Partial<ModelHandle> = {}): ModelHandle {
  return { id: 'test/test', lane: 'test', model, contextWindow: null, maxOutputTokens: null, price: null, ...more };
}

export function streamOf(parts: Iterable<LanguageModelV4StreamPart>): ReadableStream<LanguageModelV4StreamPart> {
  const iterator = parts[Symbol.iterator]();
  return new ReadableStream({
    pull(controller) {
      const next = iterator.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
  });
}

export const finishPart = (unified: LanguageModelV4FinishReason['unified'] = 'stop'): LanguageModelV4StreamPart => ({
  type: 'finish',
  finishReason: { unified, raw: unified },
  usage,
});

function finishOf({ parts, finish }: PreparedAnswer): LanguageModelV4FinishReason {
  const unified = finish ?? (parts.some((part) => part.type === 'tool-call') ? 'tool-calls' : 'stop');
  return { unified, raw: unified };
}

/** As providers stream: text in pieces, metadata that is known only at the end of a part, a call after its input. */
function* partsOf(answer: PreparedAnswer): Generator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] };
  for (const [index, part] of answer.parts.entries()) {
    if (part.type === 'tool-call') {
      yield { type: 'tool-input-start', id: part.toolCallId, toolName: part.toolName };
      yield { type: 'tool-input-delta', id: part.toolCallId, delta: part.input };
      yield { type: 'tool-input-end', id: part.toolCallId };
      yield part;
      continue;
    }
    const id = String(index);
    yield { type: `${part.type}-start`, id };
    for (const delta of part.text.match(/.{1,5}/gsu) ?? []) yield { type: `${part.type}-delta`, id, delta };
    yield { type: `${part.type}-end`, id, ...(part.providerMetadata ? { providerMetadata: part.providerMetadata } : {}) };
  }
  yield finishPart(finishOf(answer).unified);
}
