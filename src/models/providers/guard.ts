// What stands between a provider's model and the caller.
//
// G1. No error leaves with more than a message, a status, its retry headers and whether trying again helps: not the request, and not the key.
// G2. Usage that cannot be (negative, or nothing for something) leaves as unknown, so that it is estimated and the budget holds.
// G3. A call that was aborted ends with the reason it was aborted for.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import { isRetinueError } from '../../contract/error.ts';
import { statusOf } from '../failure.ts';
import { type Open, openByStream, type PartSource } from './source.ts';

export interface GuardRules {
  /** Changes nothing that it is given. */
  prepare?(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions;
  /** Takes the key out of a text. */
  clean?(text: string): string;
  /** What may help at this status; added to the message. */
  hint?(status: number, message: string): string | null;
}

/** An answer that is not wrapped, with what is to be done to each of its parts and to what it throws. */
export interface OpenStream extends PartSource {
  part(part: LanguageModelV4StreamPart): LanguageModelV4StreamPart;
  error(thrown: unknown): unknown;
}

// Our own caller reads guarded models part by part: a second stream around the first would cost as much as the rest of the guard.
const openers = new WeakMap<LanguageModelV4, (options: LanguageModelV4CallOptions) => Promise<OpenStream>>();

/** The answer of any model; of a guarded one, with its guard beside it. */
export async function openStream(model: LanguageModelV4, options: LanguageModelV4CallOptions): Promise<OpenStream> {
  const open = openers.get(model);
  if (open) return open(options);
  const { read } = await openByStream(model)(options);
  return { read, part: (part) => part, error: (thrown) => thrown };
}

/** `source` is a shorter way to the model's answers than its streams, where there is one. */
export function guarded(model: LanguageModelV4, rules: GuardRules, source: Open = openByStream(model)): LanguageModelV4 {
  const prepare = rules.prepare ?? ((options: LanguageModelV4CallOptions) => options);

  async function open(options: LanguageModelV4CallOptions): Promise<OpenStream> {
    const error = (thrown: unknown) => cleaned(thrown, rules, options.abortSignal);
    try {
      const { read } = await source(prepare(options));
      return { read, part: partGuard(error), error };
    } catch (thrown) {
      throw error(thrown);
    }
  }

  const guard: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    async doGenerate(options) {
      try {
        const result = await model.doGenerate(prepare(options));
        return { ...result, usage: soundUsage(result.usage, result.content.length > 0) };
      } catch (thrown) {
        throw cleaned(thrown, rules, options.abortSignal);
      }
    },
    async doStream(options) {
      const error = (thrown: unknown) => cleaned(thrown, rules, options.abortSignal);
      try {
        const { stream } = await model.doStream(prepare(options));
        return { stream: guardedStream(stream, partGuard(error), error) };
      } catch (thrown) {
        throw error(thrown);
      }
    },
  };
  openers.set(guard, open);
  return guard;
}

function partGuard(clean: (thrown: unknown) => unknown): OpenStream['part'] {
  let said = false;
  return (part) => {
    if (part.type === 'error') return { type: 'error', error: clean(part.error) };
    if (part.type === 'finish') return { ...part, usage: soundUsage(part.usage, said) };
    if (part.type === 'tool-call' || ('delta' in part && part.delta !== '')) said = true;
    return part;
  };
}

function guardedStream(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  part: OpenStream['part'],
  error: OpenStream['error'],
): ReadableStream<LanguageModelV4StreamPart> {
  const reader = stream.getReader();
  return new ReadableStream<LanguageModelV4StreamPart>(
    {
      async pull(controller) {
        try {
          const next = await reader.read();
          if (next.done) controller.close();
          else controller.enqueue(part(next.value));
        } catch (thrown) {
          controller.error(error(thrown));
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

const maxMessage = 1000;

/** An error that says what the kernel needs and nothing else. Failures of our own inside it come out as they are. */
export function cleaned(thrown: unknown, rules: GuardRules, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  const own = ownFailure(thrown);
  if (own) return own;
  const given = (typeof thrown === 'object' && thrown !== null ? thrown : { message: thrown }) as Record<string, unknown>;
  const status = statusOf(given);
  const message =
    typeof given.message === 'string' && given.message !== ''
      ? given.message
      : `the provider failed${status === null ? '' : ` (status ${status})`}`;
  const hint = status === null ? null : (rules.hint?.(status, message) ?? null);
  const text = (rules.clean ?? String)(hint === null ? message : `${message} (${hint})`).slice(0, maxMessage);
  const error = new Error(text);
  error.name = typeof given.name === 'string' ? given.name : 'ProviderError';
  return Object.assign(error, {
    ...(status === null ? {} : { statusCode: status }),
    ...(typeof given.isRetryable === 'boolean' ? { isRetryable: given.isRetryable } : {}),
    ...codeOf(given),
    responseHeaders: retryHeaders(given.responseHeaders),
  });
}

function ownFailure(thrown: unknown): unknown {
  for (let at = thrown, depth = 0; at !== null && typeof at === 'object' && depth < 8; at = (at as { cause?: unknown }).cause, depth++) {
    if (isRetinueError(at)) return at;
  }
  return null;
}

/** The provider's own word for what went wrong, where it gives one. */
function codeOf(given: Record<string, unknown>): { code?: string } {
  const data = given.data as { error?: { code?: unknown; type?: unknown } } | undefined;
  const code = [given.code, data?.error?.code, given.type, data?.error?.type].find((value) => typeof value === 'string');
  return code === undefined ? {} : { code: String(code).slice(0, 100) };
}

function retryHeaders(headers: unknown): Record<string, string> {
  const given = typeof headers === 'object' && headers !== null ? (headers as Record<string, unknown>) : {};
  return Object.fromEntries(
    ['retry-after', 'retry-after-ms'].flatMap((name) => (typeof given[name] === 'string' ? [[name, given[name] as string]] : [])),
  );
}

function soundUsage(usage: LanguageModelV4Usage | undefined, said: boolean): LanguageModelV4Usage {
  const { inputTokens, outputTokens } = usage ?? {};
  return {
    ...usage,
    inputTokens: isSound(inputTokens) && inputTokens.total !== 0 ? inputTokens : unknownInput,
    outputTokens: isSound(outputTokens) && !(said && outputTokens.total === 0) ? outputTokens : unknownOutput,
  };
}

const unknownInput = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
const unknownOutput = { total: undefined, text: undefined, reasoning: undefined };

function isSound<T extends object>(counts: T | undefined): counts is T {
  if (counts === undefined) return false;
  for (const name in counts) {
    const count: unknown = counts[name];
    if (count !== undefined && !(typeof count === 'number' && Number.isFinite(count) && count >= 0)) return false;
  }
  return true;
}
