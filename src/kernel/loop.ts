// The loop of a run: turn after turn until its state says that it has ended, or its signal fires. It does what `decide` says, and
// everything it learns is a fact first.
//
// L1. {model.answered, its tool.asked} are durable before a tool runs (invariant 2).
// L2. No model call starts after the signal has fired (invariant 8), nor without its estimate reserved (invariant 5).
// L3. The same request is never sent again after the provider said that it is too long.
import type { ContentPart, Usage } from '../contract/content.ts';
import type { ErrorInfo } from '../contract/error.ts';
import type { Draft, LimitCause, Purpose } from '../contract/fact.ts';
import { buildRequest, entriesForNextCall, type Pinned, type Request } from '../conversation/request.ts';
import type { ContextLimits } from '../ports/dialect.ts';
import type { ModelCaller, ModelCallResult, ModelHandle } from '../ports/model.ts';
import type { Redact } from '../ports/secrets.ts';
import type { Budget } from '../scheduling/budget.ts';
import { type Lane, retryDelay } from '../scheduling/lanes.ts';
import { callParts } from './calls.ts';
import { exhausted, nextStep, type Step } from './decide.ts';
import { examine, prepared } from './examine.ts';
import { type Ending, failed } from './fold.ts';
import { heldBack } from './hold.ts';
import { isoOf } from './journal.ts';
import type { StopCause } from './live.ts';
import { type CallEnv, runCalls } from './make-calls.ts';
import { prunable, pruneFor } from './prune.ts';
import { pendingOf, rootOf } from './state.ts';

const maxAttempts = 6;
/** What an answer is reckoned at before it is there. */
const outputEstimate = 512;
/** A provider that wants to be left alone for longer than this makes a pause of it. */
const longWaitMs = 60_000;
const nothing = { tokens: 0, costUsd: 0 };

export interface LoopEnv extends CallEnv {
  random(): number;
  /** On the monotonic clock; null where there is none. */
  deadline: number | null;
  /** The model in use, and its lane. */
  handle: ModelHandle;
  lane: Lane;
  /** Takes the next model of the agent's list into use; null when there is none left. */
  fallBack(): Promise<string | null>;
  callModel: ModelCaller;
  pinned: Pinned;
  budget: Budget;
  contextLimits: ContextLimits;
  /** The run has come to its end: what arrives from now on would never be read, and must be refused. */
  closing(): void;
}

/** The ending that the run came to by itself, or null when it was stopped from outside. */
export async function runLoop(env: LoopEnv): Promise<Ending | null> {
  const { state } = env;
  for (;;) {
    await heldBack(env);
    if (env.signal.aborted) return null;
    const step = nextStep(state);
    if (step.do === 'tools') await runCalls(env, step.calls);
    else {
      const ending = await takeStep(env, step);
      if (ending !== 'go on') return ending;
    }
  }
}

/** Takes a step that is not the tools': gives the ending where the run has come to it, and null where it was stopped from outside. */
export async function takeStep(env: LoopEnv, step: Exclude<Step, { do: 'tools' }>): Promise<Ending | 'go on' | null> {
  if (step.do === 'end') {
    env.closing();
    return step.ending;
  }
  if (step.do === 'ask') return ask(env, step.purpose, step.cause);
  if (step.do === 'nudge') note(env, step.draft);
  else await park(env);
  return 'go on';
}

async function park(env: LoopEnv): Promise<void> {
  env.slot.release();
  while (env.state.inbox.length === 0 && !env.signal.aborted && !env.pause.hold()) await env.changed();
}

/** One answer of the model, however many attempts it takes. */
async function ask(env: LoopEnv, purpose: Purpose, cause: LimitCause | null): Promise<Ending | 'go on' | null> {
  const { state, budget, signal } = env;
  if (!(await env.slot.ensure())) return null;
  const request = requestOf(env, purpose, cause);
  if (!state.asked) prune(env, request);
  const estimate = amount(env, { input: Math.ceil(request.bytes / 3), output: outputEstimate, cached: 0, reasoning: 0, estimated: true });
  // Room is kept for the last word, but not at the cost of the first.
  const headroom = purpose === 'turn' && state.answer ? estimate : nothing;
  const reservation = await budget.reserve(estimate, { headroom, signal });
  if (!reservation.ok) {
    if (reservation.cause === 'aborted') return null;
    if (purpose !== 'turn' || !state.answer) return exhausted(cause ?? reservation.cause, state);
    return ask(env, 'wrap-up', reservation.cause);
  }
  let spent = nothing;
  try {
    for (;;) {
      await heldBack(env);
      if (!(await env.slot.ensure())) return null;
      const attempt = await tryOnce(env, { purpose, cause, request });
      if (attempt === null) return null;
      const actual = attempt.ok ? amount(env, attempt.answer.usage) : attempt.usage ? amount(env, attempt.usage) : nothing;
      spent = { tokens: spent.tokens + actual.tokens, costUsd: spent.costUsd + actual.costUsd };
      if (attempt.ok) {
        await answered(env, attempt.answer, purpose);
        return 'go on';
      }
      const ending = await failedOnce(env, attempt);
      if (ending === 'go on') continue;
      return ending && cause ? exhausted(cause, state) : ending; // the limit stays the cause, even without a last word
    }
  } finally {
    reservation.settle(spent);
  }
}

/** A request and the last fact that it was built from. */
type Built = Request & { seq: number };

function requestOf(env: LoopEnv, purpose: Purpose, cause: LimitCause | null): Built {
  const { state, pinned, handle } = env;
  const entries = state.asked ? state.entries : [...state.entries, ...entriesForNextCall(pendingOf(state), purpose, cause)];
  return { ...buildRequest(pinned, entries, { purpose, maxOutputTokens: handle.maxOutputTokens }), seq: state.seq };
}

/** One attempt; null when the run was stopped before the call began. */
async function tryOnce(env: LoopEnv, ask: { purpose: Purpose; cause: LimitCause | null; request: Built }): Promise<ModelCallResult | null> {
  const { purpose, cause } = ask;
  const { state, handle, signal } = env;
  const pass = await env.lane.enter(signal);
  if (!pass) return null;
  let left: Parameters<typeof pass.leave>[0] = { kind: 'failed' };
  try {
    // What has come while the call waited for its turn is part of it: `model.asked` says that the model has seen everything before.
    const request = ask.request.seq === state.seq ? ask.request : requestOf(env, purpose, cause);
    const { attempt, upTo } = state.asked ? { attempt: state.asked.attempt + 1, upTo: state.asked.upTo } : { attempt: 1, upTo: state.seq };
    const turn = state.turns + 1;
    note(env, {
      type: 'model.asked',
      data: { attempt, cause, maxOutputTokens: handle.maxOutputTokens, model: handle.id, purpose, request: request.hash, turn, upTo },
    });
    const { firstByteMs, idleMs } = state.created.data.grant.limits;
    const result = await env.callModel({
      model: handle.model,
      options: request.options,
      requestBytes: request.bytes,
      firstByteMs: firstByteMs.value as number,
      idleMs: idleMs.value as number,
      signal,
      onFirst: () => pass.accepted(),
      onDelta: (kind, text) => env.journal.emit({ type: 'delta', runId: state.runId, turn, kind, text }),
    });
    if (result.ok) left = { kind: 'ok' };
    else if (result.failure.limited) left = { kind: 'limited', retryAfterMs: result.failure.retryAfterMs };
    return result;
  } finally {
    pass.leave(left);
  }
}

async function answered(env: LoopEnv, answer: Extract<ModelCallResult, { ok: true }>['answer'], purpose: Purpose): Promise<void> {
  const { state, handle, journal } = env;
  const turn = state.turns + 1;
  // The last word and the summary are words: calls in them are not made.
  const words = purpose === 'turn' ? answer.content : answer.content.filter((part) => part.type !== 'tool-call');
  const content = words.flatMap((part) => withoutSecrets(part, env.tools.redact));
  if (purpose === 'turn') await prepared(content, env.tools);
  const calls = purpose === 'turn' ? examine(content, turn, state, env.tools) : [];
  const costUsd = handle.price ? handle.price(answer.usage) : null;
  const dropped = purpose === 'turn' ? answer.dropped : 0;
  const first: Draft = { type: 'model.answered', data: { content, costUsd, dropped, finish: answer.finish, turn, usage: answer.usage } };
  const durable = journal.record(rootOf(state), [{ runId: state.runId, drafts: [first, ...calls] }]);
  if (callParts(content).length > 0) await durable;
  else durable.catch(() => {});
}

/** What to do after an attempt that failed: wait and go on, or the ending. */
async function failedOnce(env: LoopEnv, attempt: Extract<ModelCallResult, { ok: false }>): Promise<Ending | 'go on' | null> {
  const { state, signal } = env;
  const { retryAfterMs, limited } = attempt.failure;
  const { redact } = env.tools;
  const error = attempt.aborted ? stopped(signal) : { ...attempt.failure.error, message: redact(attempt.failure.error.message, true) };
  const attemptNo = state.asked?.attempt ?? 1;
  const tries = attemptNo - (state.fallback?.attempt ?? 0);
  const shorter = error.code === 'context_length' ? prunable(state) : [];
  const late = retryAfterMs !== null && env.deadline !== null && env.clock.monotonic() + retryAfterMs >= env.deadline;
  const retry = !attempt.aborted && !late && (shorter.length > 0 || (error.retryable && tries < maxAttempts));
  // A provider that says when it will take calls again is worth waiting for, without a slot and for everybody to see.
  const patient = limited && retryAfterMs !== null && retryAfterMs >= longWaitMs && !late && !attempt.aborted;
  const fallback = retry || attempt.aborted || !error.retryable ? null : await env.fallBack();
  const again = retry || patient || fallback !== null;
  const costUsd = attempt.usage && env.handle.price ? env.handle.price(attempt.usage) : null;
  const text = redact(attempt.text, false);
  note(env, {
    type: 'model.failed',
    data: { again, attempt: attemptNo, costUsd, error, fallback, text, turn: state.turns + 1, usage: attempt.usage },
  });
  if (attempt.aborted) return null;
  if (fallback !== null) return 'go on';
  const tooLate = `${error.message} (the provider asks for ${retryAfterMs} ms, which is past the deadline)`;
  if (!again) return failed(error.code, late ? tooLate : error.message, error.retryable);
  if (patient)
    env.pause.set({ reason: error.message, resumeAt: isoOf(env.clock.now() + (retryAfterMs as number)), consumed: [], isRecorded: false });
  else if (shorter.length > 0) note(env, { type: 'context.pruned', data: { calls: shorter } });
  else if (!limited) await env.deadlines.wait(retryDelay(tries, retryAfterMs, env.random), signal); // a limited lane makes everybody wait
  return signal.aborted ? null : 'go on';
}

/** A call that was stopped with its run is no fault of the provider's. */
function stopped(signal: AbortSignal): ErrorInfo {
  const { code, message } = signal.reason as StopCause;
  return { code: code === 'lost' ? 'fenced' : code, message, retryable: false };
}

/** Makes room near the end of the model's window, as a fact, before the request is sent. */
function prune(env: LoopEnv, request: Request): void {
  const { contextWindow, maxOutputTokens } = env.handle;
  const calls = pruneFor(env.state, request.bytes, { contextWindow, maxOutputTokens, limits: env.contextLimits });
  if (calls.length > 0) note(env, { type: 'context.pruned', data: { calls } });
}

function amount(env: LoopEnv, usage: Usage): { tokens: number; costUsd: number } {
  return { tokens: usage.input + usage.output, costUsd: env.handle.price?.(usage) ?? 0 };
}

/** A provider's signature covers its reasoning, so that goes back as it came. */
function withoutSecrets(part: ContentPart, redact: Redact): ContentPart[] {
  if (part.type === 'tool-call') return [{ ...part, input: redact(part.input, false) }];
  const text = redact(part.text, false);
  if (text === part.text) return [part];
  // Providers sign what a model thought: changed it would be refused, so it goes as a whole.
  return part.type === 'reasoning' ? [] : [{ ...part, text }];
}

function note(env: LoopEnv, draft: Draft): void {
  env.journal.note(rootOf(env.state), { runId: env.state.runId, drafts: [draft] });
}
