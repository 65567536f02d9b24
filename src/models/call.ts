// One call of a model: streams, watches for silence, and collects the answer. It never rejects; trying again is the caller's.
//
// M1. Only a whole tool call of a finished answer counts; a half-streamed one is never seen by anybody.
// M2. Silence is measured in events of the model, not in bytes: pings do not count.
// M3. The call ends when its signal fires, whether the model listens to it or not.
// M4. An answer is over with its `finish`: what comes after it adds nothing, and what goes wrong after it takes nothing away.
import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall, LanguageModelV4Usage } from '@ai-sdk/provider';
import type { ContentPart, Usage } from '../contract/content.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Clock } from '../ports/clock.ts';
import type { ModelAnswer, ModelCall, ModelCaller, ModelCallResult, ModelFailure } from '../ports/model.ts';
import { classify, failure } from './failure.ts';
import { openStream } from './providers/guard.ts';

/** More than this many tool calls of one answer are dropped, and the model is told. */
export const maxCallsPerAnswer = 64;
/** An answer larger than this is a failure: nothing that a model says in earnest is. */
const maxAnswerBytes = 8 * 1024 * 1024;

export function createModelCaller(clock: Clock): ModelCaller {
  return (call) => callModel(call, clock);
}

async function callModel(call: ModelCall, clock: Clock): Promise<ModelCallResult> {
  const stop = new AbortController();
  const collector = createCollector(call);
  const watchdog = watchSilence(call, stop, clock);
  const onAbort = () => stop.abort(call.signal.reason);
  call.signal.addEventListener('abort', onAbort, { once: true });
  if (call.signal.aborted) onAbort();
  let streaming = true;
  let guardError = (thrown: unknown) => thrown;
  try {
    const opened = await untilAborted(openStream(call.model, { ...call.options, abortSignal: stop.signal }), stop.signal);
    guardError = opened.error;
    await opened.read((raw) => {
      const part = opened.part(raw);
      watchdog.event(part);
      collector.take(part);
    });
    streaming = false;
    const answer = collector.answer();
    if (answer) return { ok: true, answer };
    throw stop.signal.aborted ? stop.signal.reason : failure('provider', 'the answer broke off before its end', true);
  } catch (thrown) {
    const answer = collector.answer();
    if (answer) return { ok: true, answer };
    const aborted = call.signal.aborted;
    const told = isFailure(thrown) ? thrown : classify(guardError(thrown), (date) => dateToDelay(date, clock.now()));
    return { ok: false, failure: told, text: collector.text(), usage: collector.usage(), aborted };
  } finally {
    watchdog.end();
    call.signal.removeEventListener('abort', onAbort);
    if (streaming && !stop.signal.aborted) stop.abort(over); // lets go of a model that has not come to its end
  }
}

/** Given as a reason, because making the default one costs a stack trace. */
const over = { reason: 'the call is over' };

function isFailure(value: unknown): value is ModelFailure {
  return typeof value === 'object' && value !== null && 'limited' in value && 'error' in value;
}

function dateToDelay(date: string, now: number): number | null {
  const at = Date.parse(date);
  return Number.isFinite(at) ? Math.max(0, at - now) : null;
}

/** The promise, or the reason of the signal as soon as it fires. */
function untilAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).then(() => signal.removeEventListener('abort', onAbort));
  });
}

const silent = new Set<LanguageModelV4StreamPart['type']>(['stream-start', 'ping', 'raw']);

/** Aborts the call when no event comes for too long. One timer that looks again, rather than one per event. */
function watchSilence(call: ModelCall, stop: AbortController, clock: Clock) {
  let last = clock.monotonic();
  let limit = call.firstByteMs;
  let begun = false;
  let cancel = arm();
  function arm(): () => void {
    return clock.at(last + limit, () => {
      if (clock.monotonic() < last + limit) cancel = arm();
      else stop.abort(failure('provider_timeout', `the provider sent nothing for ${limit} ms`, true));
    });
  }
  return {
    event(part: LanguageModelV4StreamPart): void {
      if (silent.has(part.type)) return;
      last = clock.monotonic();
      if (begun) return;
      begun = true;
      call.onFirst();
      limit = call.idleMs;
      cancel();
      cancel = arm();
    },
    end: () => cancel(),
  };
}

function createCollector(call: ModelCall) {
  const open = new Map<string, Extract<ContentPart, { type: 'text' | 'reasoning' }>>();
  const content: ContentPart[] = [];
  /** How much of a call's input came in pieces: it is not counted again when the whole comes. */
  const streamed = new Map<string, number>();
  let finish: { reason: ModelAnswer['finish']; usage: LanguageModelV4Usage } | null = null;
  let calls = 0;
  let bytes = 0;

  function grow(more: number): void {
    bytes += more;
    if (bytes > maxAnswerBytes) throw failure('provider', `the answer is larger than ${maxAnswerBytes} bytes`, false);
  }
  function begin(id: string, type: 'text' | 'reasoning', meta: unknown): void {
    const part = withMeta({ text: '', type }, meta);
    open.set(`${type} ${id}`, part);
    content.push(part);
  }
  function append(id: string, type: 'text' | 'reasoning', part: { delta: string; providerMetadata?: unknown }): void {
    const key = `${type} ${id}`;
    if (!open.has(key)) begin(id, type, undefined);
    const target = open.get(key) as Extract<ContentPart, { type: 'text' | 'reasoning' }>;
    grow(part.delta.length);
    target.text += part.delta;
    if (part.providerMetadata) target.meta = part.providerMetadata as JsonObject;
    if (part.delta !== '') call.onDelta(type, part.delta);
  }

  function add(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        begin(part.id, part.type === 'text-start' ? 'text' : 'reasoning', part.providerMetadata);
        break;
      case 'text-delta':
      case 'reasoning-delta':
        append(part.id, part.type === 'text-delta' ? 'text' : 'reasoning', part);
        break;
      case 'text-end':
      case 'reasoning-end':
        append(part.id, part.type === 'text-end' ? 'text' : 'reasoning', { delta: '', providerMetadata: part.providerMetadata });
        break;
      case 'tool-input-start':
        call.onDelta('tool', part.toolName);
        break;
      case 'tool-input-delta':
        streamed.set(part.id, (streamed.get(part.id) ?? 0) + part.delta.length);
        grow(part.delta.length);
        break;
      case 'tool-call':
        if (part.providerExecuted) break;
        grow(Math.max(0, part.input.length - (streamed.get(part.toolCallId) ?? 0)));
        if (++calls <= maxCallsPerAnswer) content.push(toolCall(part));
        break;
      case 'finish':
        finish = { reason: part.finishReason.unified, usage: part.usage };
        break;
      case 'error':
        throw part.error;
    }
  }

  return {
    take(part: LanguageModelV4StreamPart): void {
      if (!finish) add(part);
    },
    text: () => content.flatMap((part) => (part.type === 'text' ? [part.text.toWellFormed()] : [])).join(''),
    /** A call that broke off after something had come is not free: what it took is estimated. */
    usage: () => (finish || bytes > 0 ? usageOf(finish?.usage, call.requestBytes, bytes) : null),
    answer(): ModelAnswer | null {
      if (!finish || finish.reason === 'error' || finish.reason === 'interrupted') return null;
      for (const part of content) if (part.type !== 'tool-call') part.text = part.text.toWellFormed();
      // An empty text may still carry a signature that the provider wants back.
      const kept = content.filter((part) => part.type !== 'text' || part.text !== '' || part.meta !== undefined);
      // The limit on the answer may have come before the arguments did: such a call looks whole and is not (M1).
      if (finish.reason === 'length' && isWithoutArguments(kept.at(-1))) kept.pop();
      return {
        content: kept,
        finish: finish.reason,
        usage: usageOf(finish.usage, call.requestBytes, bytes),
        dropped: Math.max(0, calls - maxCallsPerAnswer),
      };
    },
  };
}

function isWithoutArguments(part: ContentPart | undefined): boolean {
  return part?.type === 'tool-call' && /^\s*(\{\s*\})?\s*$/.test(part.input);
}

function toolCall({ toolCallId, toolName, input, providerMetadata }: LanguageModelV4ToolCall): ContentPart {
  const [callId, tool] = [toolCallId.toWellFormed(), toolName.toWellFormed()];
  return withMeta({ callId, input: wellFormedJson(input), tool, type: 'tool-call' as const }, providerMetadata);
}

// Escapes in JSON text, a pair of surrogates being one. The group is half a pair.
const escapes = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)/g;

/** Well-formed also once it is parsed: half a character may stand in it as an escape. */
function wellFormedJson(text: string): string {
  const plain = text.toWellFormed();
  return /\\u[dD]/.test(plain) ? plain.replace(escapes, (whole, half) => (half === undefined ? whole : '\\ufffd')) : plain;
}

function withMeta<T extends ContentPart>(part: T, meta: unknown): T {
  return meta === undefined ? part : { ...part, meta: meta as JsonObject };
}

/** Token counts; whatever is missing, negative or no number is estimated at a third of the bytes. */
export function usageOf(usage: LanguageModelV4Usage | undefined, inputBytes: number, outputBytes: number): Usage {
  const input = count(usage?.inputTokens?.total);
  const output = count(usage?.outputTokens?.total);
  return {
    cached: count(usage?.inputTokens?.cacheRead) ?? 0,
    estimated: input === null || output === null,
    input: input ?? Math.ceil(inputBytes / 3),
    output: output ?? Math.ceil(outputBytes / 3),
    reasoning: count(usage?.outputTokens?.reasoning) ?? 0,
  };
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.round(value) : null;
}
