// Makes one model call: watches for silence and collects the answer. It never rejects, and it never retries: the caller does.
// An answer may come in one piece, which some models make cheaper, if no reader needs it while it arrives.
//
// M1. Only complete tool calls of a finished answer leave this file.
// M2. Silence is measured in model events, not in bytes: pings do not count.
// M3. The call ends when its signal fires, even if the model ignores the signal.
// M4. `finish` ends an answer: later parts are ignored, and later errors do not spoil it.
import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall, LanguageModelV4Usage } from '@ai-sdk/provider';
import { type ContentPart, maxTokenCount, type Usage } from '../contract/content.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Clock } from '../ports/clock.ts';
import type { ModelAnswer, ModelCall, ModelCaller, ModelCallResult, ModelFailure } from '../ports/model.ts';
import { LinkedStop, type Stop } from '../ports/stop.ts';
import { wellFormedJson } from '../text/well-formed.ts';
import { createFailure, errorToFailure } from './failure.ts';
import { type GuardedStream, openStream, openWhole } from './providers/guard.ts';

/** Larger answers are failures. */
const maxAnswerBytes = 8 * 1024 * 1024;

export function createModelCaller(clock: Clock): ModelCaller {
  return (call) => callModel(call, clock);
}

async function callModel(call: ModelCall, clock: Clock): Promise<ModelCallResult> {
  const stop = new LinkedStop(call.signal);
  const collector = createCollector(call);
  const watchdog = watchSilence(call, stop, clock);
  let streaming = true;
  let guardError = (thrown: unknown) => thrown;
  let isWhole = false;
  try {
    const opening =
      call.onePieceMs === undefined
        ? openStream(call.model, call.options, stop)
        : openAnswer(call, stop, (is) => {
            isWhole = is;
          });
    const opened = await waitUnlessStopped(opening, stop);
    guardError = opened.guardError;
    await opened.read((raw) => {
      const part = opened.guardPart(raw);
      watchdog.event(part);
      collector.take(part);
    });
    streaming = false;
    const answer = collector.answer();
    if (answer) return { ok: true, answer };
    throw stop.aborted ? stop.reason : createFailure('provider', 'the answer broke off before its end', true);
  } catch (thrown) {
    const answer = collector.answer();
    if (answer) return { ok: true, answer };
    const aborted = call.signal.aborted;
    const failed = isFailure(thrown) ? thrown : errorToFailure(guardError(thrown), (date) => dateToDelay(date, clock.now()));
    // An answer in one piece that was cut off is not free, although nothing of it arrived.
    const usage = collector.usage() ?? (isWhole && stop.aborted ? toUsage(undefined, call.requestBytes, 0) : null);
    return { ok: false, failure: failed, text: collector.text(), usage, aborted };
  } finally {
    watchdog.end();
    stop.release();
    if (streaming) stop.abort(callEnded); // releases a model that is still streaming
  }
}

/** Asks for the answer in one piece if the model supports that. `onWhole` is called with whether such an answer is pending. */
function openAnswer({ model, options }: ModelCall, stop: Stop, onWhole: (isWhole: boolean) => void): Promise<GuardedStream> {
  const opening = openWhole(model, options, stop);
  onWhole(opening !== null);
  if (opening === null) return openStream(model, options, stop);
  return opening.then((whole) => {
    onWhole(whole !== null);
    return whole ?? openStream(model, options, stop);
  });
}

/** An explicit reason, because the default one costs a stack trace. */
const callEnded = { reason: 'the call is over' };

function isFailure(value: unknown): value is ModelFailure {
  return typeof value === 'object' && value !== null && 'limited' in value && 'error' in value;
}

function dateToDelay(date: string, now: number): number | null {
  const at = Date.parse(date);
  return Number.isFinite(at) ? Math.max(0, at - now) : null;
}

/** Settles like the promise, but rejects with the reason as soon as the stop happens (M3). */
function waitUnlessStopped<T>(promise: Promise<T>, stop: Stop): Promise<T> {
  return new Promise((resolve, reject) => {
    const onStop = () => reject(stop.reason);
    stop.addEventListener('abort', onStop);
    if (stop.aborted) onStop();
    promise.then(resolve, reject);
  });
}

const uncountedParts = new Set<LanguageModelV4StreamPart['type']>(['stream-start', 'ping', 'raw']);

/** Aborts the call after too long a silence. One timer is re-armed, instead of one per event. */
function watchSilence(call: ModelCall, stop: Stop, clock: Clock) {
  let last = clock.monotonic();
  let limit = call.onePieceMs ?? call.firstByteMs;
  let hasBegun = false;
  let due = 0;
  let cancel = arm();
  function arm(): () => void {
    due = last + limit;
    return clock.at(due, () => {
      if (clock.monotonic() < last + limit) cancel = arm();
      else stop.abort(createFailure('provider_timeout', `the provider sent nothing for ${limit} ms`, true));
    });
  }
  return {
    event(part: LanguageModelV4StreamPart): void {
      if (uncountedParts.has(part.type)) return;
      last = clock.monotonic();
      if (hasBegun) return;
      hasBegun = true;
      call.onFirst();
      limit = call.idleMs;
      // A timer that comes too early is set again when it comes.
      if (due <= last + limit) return;
      cancel();
      cancel = arm();
    },
    end: () => cancel(),
  };
}

function createCollector(call: ModelCall) {
  const open = new Map<string, Extract<ContentPart, { type: 'text' | 'reasoning' }>>();
  const content: ContentPart[] = [];
  /** Characters of a call's input that were streamed: they are not counted again with the complete call. */
  const streamed = new Map<string, number>();
  let finish: { reason: ModelAnswer['finish']; usage: LanguageModelV4Usage } | null = null;
  let calls = 0;
  let bytes = 0;

  function addBytes(more: number): void {
    bytes += more;
    if (bytes > maxAnswerBytes) throw createFailure('provider', `the answer is larger than ${maxAnswerBytes} bytes`, false);
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
    addBytes(part.delta.length);
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
        addBytes(part.delta.length);
        break;
      case 'tool-call':
        if (part.providerExecuted) break;
        addBytes(Math.max(0, part.input.length - (streamed.get(part.toolCallId) ?? 0)));
        if (++calls <= call.maxToolCalls) content.push(toToolCallPart(part));
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
    /** Estimated for a call that broke off after some output: it is not free. */
    usage: () => (finish || bytes > 0 ? toUsage(finish?.usage, call.requestBytes, bytes) : null),
    answer(): ModelAnswer | null {
      if (!finish || finish.reason === 'error' || finish.reason === 'interrupted') return null;
      for (const part of content) if (part.type !== 'tool-call') part.text = part.text.toWellFormed();
      // An empty text may carry a signature that the provider expects back.
      const kept = content.filter((part) => part.type !== 'text' || part.text !== '' || part.meta !== undefined);
      // The output limit may have cut the arguments off: such a call looks complete, but is not (M1).
      if (finish.reason === 'length' && hasNoArguments(kept.at(-1))) kept.pop();
      return {
        content: kept,
        finish: finish.reason,
        usage: toUsage(finish.usage, call.requestBytes, bytes),
        written: toCount(finish.usage?.inputTokens?.cacheWrite),
        dropped: Math.max(0, calls - call.maxToolCalls),
      };
    },
  };
}

function hasNoArguments(part: ContentPart | undefined): boolean {
  return part?.type === 'tool-call' && /^\s*(\{\s*\})?\s*$/.test(part.input);
}

function toToolCallPart({ toolCallId, toolName, input, providerMetadata }: LanguageModelV4ToolCall): ContentPart {
  const [callId, tool] = [toolCallId.toWellFormed(), toolName.toWellFormed()];
  return withMeta({ callId, input: wellFormedJson(input), tool, type: 'tool-call' as const }, providerMetadata);
}

function withMeta<T extends ContentPart>(part: T, meta: unknown): T {
  return meta === undefined ? part : { ...part, meta: meta as JsonObject };
}

/** Missing, negative, absurd or non-numeric counts are estimated as one token for three bytes. */
export function toUsage(usage: LanguageModelV4Usage | undefined, inputBytes: number, outputBytes: number): Usage {
  const input = toCount(usage?.inputTokens?.total);
  const output = toCount(usage?.outputTokens?.total);
  return {
    cached: toCount(usage?.inputTokens?.cacheRead) ?? 0,
    estimated: input === null || output === null,
    input: input ?? Math.ceil(inputBytes / 3),
    output: output ?? Math.ceil(outputBytes / 3),
    reasoning: toCount(usage?.outputTokens?.reasoning) ?? 0,
  };
}

function toCount(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && value <= maxTokenCount ? Math.round(value) : null;
}
