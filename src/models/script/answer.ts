import {
  APICallError,
  type LanguageModelV4CallOptions,
  type LanguageModelV4Content,
  type LanguageModelV4FinishReason,
  type LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { RetinueError } from '../../contract/error.ts';
import type { Json } from '../../contract/json.ts';
import { runIds } from './conversation.ts';
import type { Step } from './format.ts';

/** What a step says: its parts in order, and how the answer ends. */
export interface Answer {
  content: LanguageModelV4Content[];
  finishReason: LanguageModelV4FinishReason;
  usage: LanguageModelV4Usage;
}

/** The place of the step in its run makes ids of calls unique. Throws RetinueError `script` for a run that is not named yet. */
export function answerOf(step: Step, place: { file: string; position: number }, options: LanguageModelV4CallOptions): Answer {
  const fill = filler(place.file, options);
  const content: LanguageModelV4Content[] = [];
  if (step.reasoning !== undefined) content.push({ type: 'reasoning', text: fill(step.reasoning) as string });
  if (step.text !== undefined) content.push({ type: 'text', text: fill(step.text) as string });
  step.calls?.forEach((call, index) => {
    const input = (call.raw === undefined ? JSON.stringify(fill(call.args ?? {})) : fill(call.raw)) as string;
    content.push({ type: 'tool-call', toolCallId: call.id ?? `call_${place.position + 1}_${index + 1}`, toolName: call.tool, input });
  });
  const unified = step.finish ?? (step.calls?.length ? 'tool-calls' : 'stop');
  return { content, finishReason: { unified, raw: unified }, usage: usageOf(step, options, content) };
}

export function errorOf(error: NonNullable<Step['error']>, url: string): APICallError {
  return new APICallError({
    message: error.message,
    url,
    requestBodyValues: {},
    ...(error.status !== undefined && { statusCode: error.status }),
    ...(error.retryAfterMs !== undefined && { responseHeaders: { 'retry-after-ms': String(error.retryAfterMs) } }),
    // Without a status it stands for a connection that failed; the class itself knows which statuses are worth another try.
    ...(error.status === undefined && { isRetryable: true }),
  });
}

/** Puts ids of runs in the place of `{{run:N}}`, in texts at any depth. */
function filler(file: string, options: LanguageModelV4CallOptions): (value: Json) => Json {
  let ids: string[] | null = null;
  const fillText = (text: string): string =>
    text.replace(/\{\{run:(\d+)\}\}/g, (whole, number) => {
      ids ??= runIds(options.prompt);
      const id = ids[Number(number) - 1];
      if (id !== undefined) return id;
      throw new RetinueError('script', `${file}: ${whole} stands for no run; the conversation names ${ids.length}`);
    });
  const fill = (value: Json): Json => {
    if (typeof value === 'string') return fillText(value);
    if (Array.isArray(value)) return value.map(fill);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fill(inner)]));
  };
  return fill;
}

function usageOf(step: Step, options: LanguageModelV4CallOptions, content: LanguageModelV4Content[]): LanguageModelV4Usage {
  if (step.usage === null) return usage({});
  if (step.usage !== undefined) return usage(step.usage);
  return usage({ input: estimate(options.prompt), output: content.length === 0 ? 0 : estimate(content) });
}

const estimate = (value: unknown): number => Math.ceil(Buffer.byteLength(JSON.stringify(value)) / 3);

function usage(counts: Partial<NonNullable<Step['usage']>>): LanguageModelV4Usage {
  const { input, output, cached, reasoning } = counts;
  return {
    inputTokens: { total: input, noCache: minus(input, cached), cacheRead: cached, cacheWrite: undefined },
    outputTokens: { total: output, text: minus(output, reasoning), reasoning },
  };
}

function minus(total: number | undefined, part: number | undefined): number | undefined {
  return total === undefined ? undefined : Math.max(0, total - (part ?? 0));
}
