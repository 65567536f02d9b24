// The model loop, run by `driveAgent`. It takes the steps that `nextStep` returns until the run ends or is stopped, and records what it learns as facts.
//
// L1. {model.answered, its tool.asked} are durable before a tool runs (invariant 2).
// L2. No model call starts after the signal has fired (invariant 8), nor without a reserved estimate (invariant 5).
// L3. A request that the provider called too long is never sent again unchanged.
import type { Usage } from '../contract/content.ts';
import type { Delta } from '../contract/delta.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { Draft, LimitCause, Purpose } from '../contract/fact.ts';
import { completeLimits } from '../contract/limits.ts';
import { buildRequest, entriesForNextCall, type Pinned, type Request } from '../conversation/request.ts';
import { toolCallParts } from '../conversation/tool-calls.ts';
import type { ModelCallResult, ModelHandle } from '../ports/model.ts';
import { type Lane, retryDelay } from '../scheduling/lanes.ts';
import { msToIso } from '../text/instant.ts';
import { modelRequester } from './admission.ts';
import { limitEnding, nextStep, type Step } from './decide.ts';
import { judgeToolCalls } from './judge.ts';
import { redactPart } from './original-arguments.ts';
import { type Ending, failed } from './outcome.ts';
import { requestPause, waitWhilePaused } from './pause.ts';
import { prunableCalls, selectCallsToPrune } from './pruning.ts';
import type { ModelWork, Run, StopCause } from './run.ts';
import type { Services } from './services.ts';
import { loopVersionOf, pendingInput, type RunState } from './state.ts';
import { runToolCalls, type ToolSessionState } from './tool-execution.ts';

const maxAttempts = 6;
/** Output tokens assumed until the answer arrives. */
const estimatedOutput = 512;
/** Longer Retry-After values pause the run instead of blocking it. */
const longWaitMs = 60_000;
const zeroAmount = { tokens: 0, costUsd: 0 };

/** One run in the loop: the run, what its requests share, and the model in use. */
interface Loop {
  run: Run;
  state: RunState;
  services: Services;
  tools: ToolSessionState;
  pinned: Pinned;
  model: ModelHandle;
  lane: Lane;
  /** Models still to fall back to. */
  fallbacks: string[];
}

/** Null: the run was stopped from outside. */
type StepResult = Ending | 'continue' | null;

/** Runs the loop. Null if the run was stopped from outside. */
export async function runLoop(run: Run, pinned: Pinned, tools: ToolSessionState, services: Services): Promise<Ending | null> {
  const { model, fallbacks } = run.work as ModelWork;
  const lane = services.lanes.lane(model.lane);
  const loop: Loop = { run, state: run.state, services, tools, pinned, model, lane, fallbacks: [...fallbacks] };
  for (;;) {
    await waitWhilePaused(run, services);
    if (run.signal.aborted) return null;
    const result = await takeStep(loop, nextStep(run.state));
    if (result !== 'continue') return result;
  }
}

async function takeStep(loop: Loop, step: Step): Promise<StepResult> {
  const { run, services, tools } = loop;
  switch (step.do) {
    case 'tools':
      await runToolCalls(run, step.calls, tools, services);
      return 'continue';
    case 'ask':
      return askModel(loop, step.purpose, step.cause);
    case 'nudge':
      recordLater(loop, step.draft);
      return 'continue';
    case 'park':
      run.slot.release();
      while (hasNothingToDo(run)) await run.waitForChange();
      return 'continue';
    case 'end':
      run.isClosing = true;
      return step.ending;
  }
}

function hasNothingToDo({ state, signal, pauseRequest }: Run): boolean {
  return state.conversation.inbox.length === 0 && !signal.aborted && !pauseRequest && !state.paused;
}

/** Gets one answer from the model. Failed attempts are retried as `handleFailure` decides. */
async function askModel(loop: Loop, purpose: Purpose, cause: LimitCause | null): Promise<StepResult> {
  const { run, state } = loop;
  const { budget, signal, slot } = run;
  if (!(await slot.ensure())) return null;
  const request = buildNextRequest(loop, purpose, cause);
  if (state.phase.name !== 'asking') pruneIfNeeded(loop, request);
  const estimate = usageToAmount(loop, {
    input: Math.ceil(request.bytes / 3),
    output: estimatedOutput,
    cached: 0,
    reasoning: 0,
    estimated: true,
  });
  const isFirst = state.guards.turns === 0;
  // Reserve enough for a wrap-up call, except on the first call.
  const headroom = purpose === 'turn' && !isFirst ? estimate : zeroAmount;
  const reservation = await budget.reserve(estimate, { headroom, signal });
  if (!reservation.ok) {
    if (reservation.cause === 'aborted') return null;
    if (purpose !== 'turn' || isFirst) return limitEnding(cause ?? reservation.cause, state);
    return askModel(loop, 'wrap-up', reservation.cause);
  }
  let spent = zeroAmount;
  try {
    for (;;) {
      await waitWhilePaused(run, loop.services);
      if (!(await slot.ensure())) return null;
      const result = await attemptModelCall(loop, { purpose, cause, request });
      if (result === null) return null;
      const usage = result.ok ? result.answer.usage : result.usage;
      const used = usage ? usageToAmount(loop, usage) : zeroAmount;
      spent = { tokens: spent.tokens + used.tokens, costUsd: spent.costUsd + used.costUsd };
      if (result.ok) {
        await recordAnswer(loop, result.answer, purpose);
        return 'continue';
      }
      const next = await handleFailure(loop, result);
      if (next === 'continue') continue;
      // If the wrap-up fails, report the limit, not its error.
      return next && cause ? limitEnding(cause, state) : next;
    }
  } finally {
    reservation.settle(spent);
  }
}

/** A request, and the last fact it was built from. */
type BuiltRequest = Request & { seq: number };

function buildNextRequest({ state, pinned, model }: Loop, purpose: Purpose, cause: LimitCause | null): BuiltRequest {
  const { entries } = state.conversation;
  const version = loopVersionOf(state);
  const added = state.phase.name === 'asking' ? [] : entriesForNextCall(pendingInput(state), { purpose, cause }, version);
  const { maxOutputTokens } = model;
  return { ...buildRequest(pinned, [...entries, ...added], { purpose, maxOutputTokens, texts: version }), seq: state.seq };
}

/** One attempt; null if the run was stopped before the call began. */
async function attemptModelCall(
  loop: Loop,
  ask: { purpose: Purpose; cause: LimitCause | null; request: BuiltRequest },
): Promise<ModelCallResult | null> {
  const { run, state, model, services } = loop;
  const { purpose, cause } = ask;
  const pass = await loop.lane.enter(run.signal);
  if (!pass) return null;
  let laneResult: Parameters<typeof pass.leave>[0] = { kind: 'failed' };
  try {
    // Rebuild the request if facts were recorded meanwhile (pruning, messages): it must contain everything before `model.asked`.
    const request = ask.request.seq === state.seq ? ask.request : buildNextRequest(loop, purpose, cause);
    const asked = state.phase.name === 'asking' ? state.phase.asked : null;
    const turn = state.guards.turns + 1;
    recordLater(loop, {
      type: 'model.asked',
      data: {
        attempt: (asked?.attempt ?? 0) + 1,
        cause,
        maxOutputTokens: model.maxOutputTokens,
        model: model.id,
        purpose,
        request: request.hash,
        turn,
        upTo: asked?.upTo ?? state.seq,
      },
    });
    const { firstByteMs, idleMs, maxToolCalls } = completeLimits(run.grant.limits);
    const result = await services.callModel({
      model: model.model,
      options: request.options,
      requestBytes: request.bytes,
      maxToolCalls: maxToolCalls.value as number,
      firstByteMs: firstByteMs.value as number,
      idleMs: idleMs.value as number,
      signal: run.signal,
      onFirst: () => pass.accepted(),
      onDelta: createDeltaEmitter(run.id, turn, services),
    });
    if (result.ok) laneResult = { kind: 'ok' };
    else if (result.failure.limited) laneResult = { kind: 'limited', retryAfterMs: result.failure.retryAfterMs };
    return result;
  } finally {
    pass.leave(laneResult);
  }
}

/** Sends pieces of an answer to watchers, without secrets (invariant 11). */
function createDeltaEmitter(runId: string, turn: number, { journal, redactStream }: Services): (kind: Delta['kind'], text: string) => void {
  const streams = { text: redactStream(), reasoning: redactStream(), tool: redactStream() };
  return (kind, piece) => {
    const text = streams[kind](piece);
    if (text !== '') journal.emit({ type: 'delta', runId, turn, kind, text });
  };
}

async function recordAnswer(loop: Loop, answer: Extract<ModelCallResult, { ok: true }>['answer'], purpose: Purpose): Promise<void> {
  const { run, state, model, services } = loop;
  const turn = state.guards.turns + 1;
  const isTurn = purpose === 'turn';
  // Calls in a wrap-up or a summary are ignored.
  const parts = isTurn ? answer.content : answer.content.filter((part) => part.type !== 'tool-call');
  const content = parts.flatMap((part) => redactPart(part, services.redact));
  const originals = toolCallParts(parts).map((part) => part.input);
  const calls = isTurn ? await judgeToolCalls({ content, originals, turn }, run, services) : [];
  const costUsd = model.price ? model.price(answer.usage) : null;
  const dropped = isTurn ? answer.dropped : 0;
  const answered: Draft = { type: 'model.answered', data: { content, costUsd, dropped, finish: answer.finish, turn, usage: answer.usage } };
  const durable = run.record([answered, ...calls]);
  if (toolCallParts(content).length > 0) await durable;
}

/** Records a failed attempt and decides what follows: wait and retry, fall back to another model, pause, or end the run. */
async function handleFailure(loop: Loop, attempt: Extract<ModelCallResult, { ok: false }>): Promise<StepResult> {
  const { run, state, services, model } = loop;
  const { clock, redact, deadlines, ids } = services;
  const { signal, deadline } = run;
  const { retryAfterMs, limited } = attempt.failure;
  const error = attempt.aborted ? stopToError(run) : { ...attempt.failure.error, message: redact(attempt.failure.error.message, true) };
  const attempts = state.phase.name === 'asking' ? state.phase.asked.attempt : 1;
  const attemptsOnThisModel = attempts - (state.fallback?.attempt ?? 0);
  const toPrune = error.code === 'context_length' ? prunableCalls(state) : [];
  const isTooLate = retryAfterMs !== null && deadline !== null && clock.monotonic() + retryAfterMs >= deadline;
  const canRetry = !attempt.aborted && !isTooLate && (toPrune.length > 0 || (error.retryable && attemptsOnThisModel < maxAttempts));
  // A long Retry-After pauses the run, which frees its slot.
  const pauseMs = limited && retryAfterMs !== null && retryAfterMs >= longWaitMs && !isTooLate && !attempt.aborted ? retryAfterMs : null;
  const fallback = canRetry || attempt.aborted || !error.retryable ? null : await fallBack(loop);
  const again = canRetry || pauseMs !== null || fallback !== null;
  const costUsd = attempt.usage && model.price ? model.price(attempt.usage) : null;
  const text = redact(attempt.text, false);
  recordLater(loop, {
    type: 'model.failed',
    data: { again, attempt: attempts, costUsd, error, fallback, text, turn: state.guards.turns + 1, usage: attempt.usage },
  });
  if (attempt.aborted) return null;
  if (fallback !== null) return 'continue';
  const lateMessage = `${error.message} (the provider asks to wait ${retryAfterMs} ms, which is past the deadline)`;
  if (!again) return failed(error.code, isTooLate ? lateMessage : error.message, error.retryable);
  if (pauseMs !== null) requestPause(run, error.message, { resumeAt: msToIso(clock.now() + pauseMs) });
  else if (toPrune.length > 0) recordLater(loop, { type: 'context.pruned', data: { calls: toPrune } });
  // After a rate limit the lane delays all its calls; after other failures this run waits.
  else if (!limited)
    await deadlines.wait(
      retryDelay(attemptsOnThisModel, retryAfterMs, () => ids.random()),
      signal,
    );
  return signal.aborted ? null : 'continue';
}

/** Switches to the next model of the agent's list that the cost limit covers; null if there is none. */
async function fallBack(loop: Loop): Promise<string | null> {
  const { services, run } = loop;
  const name = loop.fallbacks.shift();
  if (name === undefined) return null;
  const model = await services.models.resolve(name, modelRequester(run));
  // Its cost could not be charged to the limit.
  if (model.price === null && run.budget.left().costUsd !== null) return fallBack(loop);
  loop.model = model;
  loop.lane = services.lanes.lane(loop.model.lane);
  return name;
}

/** A call that was stopped with its run is not the provider's failure. */
function stopToError({ stopCause }: Run): ErrorInfo {
  const { code, message } = stopCause as StopCause;
  return { code: code === 'lost' ? 'fenced' : code, message, retryable: false };
}

/** If the context window is nearly full, removes old tool results before the call, as a fact. */
function pruneIfNeeded(loop: Loop, request: Request): void {
  const { run, state, model } = loop;
  const { contextWindow, maxOutputTokens } = model;
  const limits = run.depth > 0 ? (run.dialect.setup.context ?? {}) : {};
  const calls = selectCallsToPrune(state, request.bytes, { contextWindow, maxOutputTokens, limits });
  if (calls.length > 0) recordLater(loop, { type: 'context.pruned', data: { calls } });
}

function usageToAmount({ model }: Loop, usage: Usage): { tokens: number; costUsd: number } {
  return { tokens: usage.input + usage.output, costUsd: model.price?.(usage) ?? 0 };
}

/** Records a fact without waiting: it is durable with the next fact that is waited for. */
function recordLater({ run }: Loop, draft: Draft): void {
  void run.record([draft]);
}
