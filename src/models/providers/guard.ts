// Wraps a provider's model, so that only safe errors and plausible usage reach the kernel.
//
// G1. An error contains a message, a status, retry headers and whether a retry helps; never the request or the key.
// G2. Impossible usage (negative, or zero for a real answer) becomes unknown, so that the kernel estimates it and budgets work.
// G3. An aborted call ends with the reason of the abort.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4Warning,
} from '@ai-sdk/provider';
import { isRetinueError, RetinueError } from '../../contract/error.ts';
import type { StopSignal } from '../../ports/stop.ts';
import { findStatus } from '../failure.ts';
import { type OpenSource, openModelStream, type PartSource, type SourceOptions } from './part-source.ts';
import { openModelWhole } from './whole-answer.ts';

export interface GuardRules {
  /** Returns changed options without modifying the originals. */
  prepare?(options: LanguageModelV4CallOptions): LanguageModelV4CallOptions;
  /** Removes the key from a text. */
  clean?(text: string): string;
  /** Advice for this status, added to the message. */
  hint?(status: number, message: string): string | null;
}

/** An unwrapped answer, with the functions to apply to its parts and errors. */
export interface GuardedStream extends PartSource {
  guardPart(part: LanguageModelV4StreamPart): LanguageModelV4StreamPart;
  guardError(thrown: unknown): unknown;
}

// call.ts reads guarded models part by part: a second stream around the first would cost as much as the rest of the guard.
const openers = new WeakMap<LanguageModelV4, (options: SourceOptions, signal: StopSignal) => Promise<GuardedStream>>();

/** Opens an answer of any model; for a guarded model, with its guard functions. */
export function openStream(model: LanguageModelV4, options: SourceOptions, signal: StopSignal): Promise<GuardedStream> {
  return (openers.get(model) ?? openUnguarded(model))(options, signal);
}

function openUnguarded(model: LanguageModelV4) {
  return async (options: SourceOptions, signal: StopSignal): Promise<GuardedStream> => {
    const { read } = await openModelStream(model)(options, signal);
    return { read, guardPart: (part) => part, guardError: (thrown) => thrown };
  };
}

/** The same for an answer in one piece; null if the model only streams, or streams as cheaply. It may resolve to null for the same reasons. */
export function openWhole(model: LanguageModelV4, options: SourceOptions, signal: StopSignal): Promise<GuardedStream | null> | null {
  return wholes.get(model)?.(options, signal) ?? null;
}

const wholes = new WeakMap<LanguageModelV4, (options: SourceOptions, signal: StopSignal) => Promise<GuardedStream | null>>();

/** `source` is a faster way to the model's answers than its streams, if it has one. */
export function guardModel(model: LanguageModelV4, rules: GuardRules, source?: OpenSource): LanguageModelV4 {
  const openSource = source ?? openModelStream(model);
  const prepare = rules.prepare ?? ((options: LanguageModelV4CallOptions) => options);

  async function open(options: SourceOptions, signal: StopSignal): Promise<GuardedStream> {
    const guardError = (thrown: unknown) => cleanError(thrown, rules, signal);
    try {
      const { read } = await openSource(prepare(options), signal);
      return { read, guardPart: createPartGuard(guardError), guardError };
    } catch (thrown) {
      throw guardError(thrown);
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
        return { ...result, usage: checkUsage(result.usage, result.content.length > 0) };
      } catch (thrown) {
        throw cleanError(thrown, rules, options.abortSignal);
      }
    },
    async doStream(options) {
      const guardError = (thrown: unknown) => cleanError(thrown, rules, options.abortSignal);
      try {
        const { stream } = await model.doStream(prepare(options));
        return { stream: guardStream(stream, createPartGuard(guardError), guardError) };
      } catch (thrown) {
        throw guardError(thrown);
      }
    },
  };
  openers.set(guard, open);
  if (source === undefined) {
    const openWholeSource = openModelWhole(model);
    wholes.set(guard, async (options, signal) => {
      const guardError = (thrown: unknown) => cleanError(thrown, rules, signal);
      try {
        const opened = await openWholeSource(prepare(options), signal);
        return opened && { read: opened.read, guardPart: createPartGuard(guardError), guardError };
      } catch (thrown) {
        throw guardError(thrown);
      }
    });
  }
  return guard;
}

function createPartGuard(clean: (thrown: unknown) => unknown): GuardedStream['guardPart'] {
  let hasOutput = false;
  return (part) => {
    if (part.type === 'stream-start') refuseDroppedEffort(part.warnings);
    if (part.type === 'error') return { type: 'error', error: clean(part.error) };
    if (part.type === 'finish') return { ...part, usage: checkUsage(part.usage, hasOutput) };
    if (part.type === 'tool-call' || ('delta' in part && part.delta !== '')) hasOutput = true;
    return part;
  };
}

/** A package that cannot pass the wanted effort on only warns, and would answer without it. */
function refuseDroppedEffort(warnings: SharedV4Warning[]): void {
  for (const warning of warnings)
    if (warning.type === 'unsupported' && warning.feature === 'reasoning')
      throw new RetinueError('bad_request', `the model cannot be told how much to think: ${warning.details ?? 'its provider ignores it'}`);
}

function guardStream(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  part: GuardedStream['guardPart'],
  error: GuardedStream['guardError'],
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

/** An error with what the kernel needs and nothing else (G1). A RetinueError inside it is returned as it is. */
function cleanError(thrown: unknown, rules: GuardRules, signal: StopSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  const own = findRetinueError(thrown);
  if (own) return own;
  const given = (typeof thrown === 'object' && thrown !== null ? thrown : { message: thrown }) as Record<string, unknown>;
  const status = findStatus(given);
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
    ...findCode(given),
    responseHeaders: pickRetryHeaders(given.responseHeaders),
  });
}

function findRetinueError(thrown: unknown): unknown {
  for (let at = thrown, depth = 0; at !== null && typeof at === 'object' && depth < 8; at = (at as { cause?: unknown }).cause, depth++) {
    if (isRetinueError(at)) return at;
  }
  return null;
}

/** The provider's own error code, if it has one. */
function findCode(given: Record<string, unknown>): { code?: string } {
  const data = given.data as { error?: { code?: unknown; type?: unknown } } | undefined;
  const code = [given.code, data?.error?.code, given.type, data?.error?.type].find((value) => typeof value === 'string');
  return code === undefined ? {} : { code: String(code).slice(0, 100) };
}

function pickRetryHeaders(headers: unknown): Record<string, string> {
  const given = typeof headers === 'object' && headers !== null ? (headers as Record<string, unknown>) : {};
  return Object.fromEntries(
    ['retry-after', 'retry-after-ms'].flatMap((name) => (typeof given[name] === 'string' ? [[name, given[name] as string]] : [])),
  );
}

function checkUsage(usage: LanguageModelV4Usage | undefined, hasOutput: boolean): LanguageModelV4Usage {
  const { inputTokens, outputTokens } = usage ?? {};
  return {
    ...usage,
    inputTokens: isPlausible(inputTokens) && inputTokens.total !== 0 ? inputTokens : unknownInput,
    outputTokens: isPlausible(outputTokens) && !(hasOutput && outputTokens.total === 0) ? outputTokens : unknownOutput,
  };
}

const unknownInput = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
const unknownOutput = { total: undefined, text: undefined, reasoning: undefined };

function isPlausible<T extends object>(counts: T | undefined): counts is T {
  if (counts === undefined) return false;
  for (const name in counts) {
    const count: unknown = counts[name];
    if (count !== undefined && !(typeof count === 'number' && Number.isFinite(count) && count >= 0)) return false;
  }
  return true;
}
