// Turns a step of a script into the answer or the error that a provider would give.
import { APICallError, type LanguageModelV4CallOptions, type LanguageModelV4Content, type LanguageModelV4Usage } from '@ai-sdk/provider';
import { RetinueError } from '../../contract/error.ts';
import type { Json } from '../../contract/json.ts';
import type { ModelAnswerContent } from '../answer-stream.ts';
import { findRunIds } from './conversation.ts';
import type { ScriptStep } from './format.ts';

/** `position` is the step's index in its run; it makes the ids of calls unique. Throws RetinueError `script` for an unknown `{{run:N}}`. */
export function stepToAnswer(
  step: ScriptStep,
  { file, position }: { file: string; position: number },
  options: LanguageModelV4CallOptions,
): ModelAnswerContent {
  const fill = createPlaceholderFiller(file, options);
  const content: LanguageModelV4Content[] = [];
  if (step.reasoning !== undefined) content.push({ type: 'reasoning', text: fill(step.reasoning) as string });
  if (step.text !== undefined) content.push({ type: 'text', text: fill(step.text) as string });
  step.calls?.forEach((call, index) => {
    const input = (call.raw === undefined ? JSON.stringify(fill(call.args ?? {})) : fill(call.raw)) as string;
    content.push({ type: 'tool-call', toolCallId: call.id ?? `call_${position + 1}_${index + 1}`, toolName: call.tool, input });
  });
  const unified = step.finish ?? (step.calls?.length ? 'tool-calls' : 'stop');
  return { content, finishReason: { unified, raw: unified }, usage: stepUsage(step, options, content) };
}

export function createStepError(error: NonNullable<ScriptStep['error']>, url: string): APICallError {
  return new APICallError({
    message: error.message,
    url,
    requestBodyValues: {},
    ...(error.status !== undefined && { statusCode: error.status }),
    ...(error.retryAfterMs !== undefined && { responseHeaders: { 'retry-after-ms': String(error.retryAfterMs) } }),
    // Without a status this is a failed connection. For a status the class itself decides whether to retry.
    ...(error.status === undefined && { isRetryable: true }),
  });
}

/** Replaces `{{run:N}}` by the id of the Nth run that the conversation mentions, in strings at any depth. */
function createPlaceholderFiller(file: string, options: LanguageModelV4CallOptions): (value: Json) => Json {
  let ids: string[] | null = null;
  const fillText = (text: string): string =>
    text.replace(/\{\{run:(\d+)\}\}/g, (placeholder, number) => {
      ids ??= findRunIds(options.prompt);
      const id = ids[Number(number) - 1];
      if (id !== undefined) return id;
      throw new RetinueError('script', `${file}: ${placeholder} does not exist; the conversation mentions ${ids.length} runs so far`);
    });
  const fill = (value: Json): Json => {
    if (typeof value === 'string') return fillText(value);
    if (Array.isArray(value)) return value.map(fill);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fill(inner)]));
  };
  return fill;
}

/** `usage: null` in a script means a provider that reports none; without `usage` it is estimated. */
function stepUsage(step: ScriptStep, options: LanguageModelV4CallOptions, content: LanguageModelV4Content[]): LanguageModelV4Usage {
  if (step.usage === null) return countsToUsage({});
  if (step.usage !== undefined) return countsToUsage(step.usage);
  return countsToUsage({ input: estimateTokens(options.prompt), output: content.length === 0 ? 0 : estimateTokens(content) });
}

/** One token for three bytes. */
function estimateTokens(value: unknown): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(value)) / 3);
}

function countsToUsage({ input, output, cached, reasoning }: Partial<NonNullable<ScriptStep['usage']>>): LanguageModelV4Usage {
  return {
    inputTokens: { total: input, noCache: subtract(input, cached), cacheRead: cached, cacheWrite: undefined },
    outputTokens: { total: output, text: subtract(output, reasoning), reasoning },
  };
}

function subtract(total: number | undefined, part: number | undefined): number | undefined {
  return total === undefined ? undefined : Math.max(0, total - (part ?? 0));
}
