// One call of the model: the request, its place in the lane of the provider, `model.asked`, and the pieces of the answer for watchers.
import type { Delta } from '../../contract/delta.ts';
import type { LimitCause, Purpose } from '../../contract/fact.ts';
import { completeLimits } from '../../contract/limits.ts';
import { buildRequest, entriesForNextCall, type ModelRequest } from '../../conversation/request.ts';
import type { ModelCallResult } from '../../ports/model.ts';
import type { Run } from '../run.ts';
import type { Services } from '../services.ts';
import { findOpenRequestFor, loopVersionOf, pendingInput } from '../state/state.ts';
import { buildCompactionEntries, findCurrentPinned } from './compaction.ts';
import type { Loop } from './loop-context.ts';

/** Output tokens assumed until the answer arrives. */
export const estimatedOutput = 512;

/** A request, and the last fact it was built from. */
type BuiltRequest = ModelRequest & { seq: number };

export function buildNextRequest({ state, pinned, model, plan }: Loop, purpose: Purpose, cause: LimitCause | null): BuiltRequest {
  const { entries } = state.conversation;
  const version = loopVersionOf(state);
  const added = state.phase.name === 'asking' ? [] : entriesForNextCall(pendingInput(state), { purpose, cause }, version);
  const all = purpose === 'compact' ? buildCompactionEntries(state) : [...entries, ...added];
  const { maxOutputTokens } = model;
  return {
    ...buildRequest(findCurrentPinned(state, pinned), all, { purpose, maxOutputTokens, effort: plan.effort, texts: version }),
    seq: state.seq,
  };
}

/** One attempt to get an answer; null if the run was stopped before the call began. */
export async function attemptModelCall(
  loop: Loop,
  ask: { purpose: Purpose; cause: LimitCause | null; budget: string | null; request: BuiltRequest },
): Promise<ModelCallResult | null> {
  const { run, state, model, plan, services } = loop;
  const { purpose, cause } = ask;
  const pass = await loop.lane.enter(run.signal, Math.ceil(ask.request.bytes / 3) + estimatedOutput);
  if (!pass) return null;
  let used: number | undefined;
  let laneResult: Parameters<typeof pass.leave>[0] = { kind: 'failed' };
  try {
    // Rebuild the request if facts were recorded meanwhile (pruning, messages): it must contain everything before `model.asked`.
    const request = ask.request.seq === state.seq ? ask.request : buildNextRequest(loop, purpose, cause);
    const asked = findOpenRequestFor(state, purpose);
    const turn = state.guards.turns + 1;
    const data = {
      attempt: (asked?.attempt ?? 0) + 1,
      ...(ask.budget !== null && { budget: ask.budget }),
      cause,
      ...(plan.effort !== null && { effort: plan.effort }),
      ...(loop.instead && { instead: loop.instead }),
      maxOutputTokens: model.maxOutputTokens,
      model: model.id,
      purpose,
      request: request.hash,
      turn,
      upTo: asked?.upTo ?? state.seq,
    };
    loop.instead = null;
    const consumed = purpose === 'compact' ? takeCompactOrders(run) : [];
    void run.record([{ type: 'model.asked', data }], { consumed, canWait: true });
    const { firstByteMs, idleMs, maxToolCalls } = completeLimits(run.grant.limits);
    const longestSilence = (firstByteMs.value as number) + (idleMs.value as number);
    const mayBeWhole = !loop.mustStream && !services.journal.readsDeltas();
    const began = services.clock.monotonic();
    const result = await services.callModel({
      model: model.model,
      options: { ...request.options, ...plan.settings },
      requestBytes: request.bytes,
      maxToolCalls: maxToolCalls.value as number,
      firstByteMs: firstByteMs.value as number,
      idleMs: idleMs.value as number,
      ...(mayBeWhole && { onePieceMs: longestSilence }),
      signal: run.signal,
      onFirst: () => pass.accepted(),
      // A summary of the conversation is no answer to show.
      onDelta: purpose === 'compact' ? noDeltas : createDeltaEmitter(run.id, turn, services),
    });
    // Only a stream shows that a slow provider is not a silent one.
    if (!result.ok || services.clock.monotonic() - began > (firstByteMs.value as number)) loop.mustStream = true;
    const usage = result.ok ? result.answer.usage : result.usage;
    used = usage ? usage.input + usage.output : undefined;
    if (result.ok) laneResult = { kind: 'ok' };
    else if (result.failure.limited) laneResult = { kind: 'limited', retryAfterMs: result.failure.retryAfterMs };
    return result;
  } finally {
    pass.leave(laneResult, used);
  }
}

/** The orders that the compaction fulfils. */
function takeCompactOrders(run: Run): string[] {
  const orders = run.compactRequest?.orders ?? [];
  run.compactRequest = null;
  return orders;
}

const noDeltas = () => {};

/** Sends pieces of an answer to watchers, without secrets (invariant 11). */
function createDeltaEmitter(runId: string, turn: number, { journal, redactStream }: Services): (kind: Delta['kind'], text: string) => void {
  // A new reader gets deltas from the next call on.
  if (!journal.readsDeltas()) return noDeltas;
  const streams = { text: redactStream(), reasoning: redactStream(), tool: redactStream() };
  return (kind, piece) => {
    const text = streams[kind](piece);
    if (text !== '') journal.emit({ type: 'delta', runId, turn, kind, text });
  };
}
