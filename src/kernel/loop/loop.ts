// The model loop, run by `driveAgent`. It takes the steps that `nextStep` returns until the run ends or is stopped, and records what it learns as facts.
//
// L1. {model.answered, its tool.asked} are durable before a tool runs (invariant 2).
// L2. No model call starts after the signal has fired (invariant 8), nor without a reserved estimate (invariant 5).
// L3. A request that the provider called too long is never sent again unchanged.
import type { Usage } from '../../contract/content.ts';
import type { Draft, LimitCause, Purpose } from '../../contract/fact.ts';
import type { PinnedParts } from '../../conversation/request.ts';
import { toolCallParts } from '../../conversation/tool-calls.ts';
import type { ModelAnswer, ModelFailure } from '../../ports/model.ts';
import { isPauseDue, pauseForBudget, waitWhilePaused } from '../pause.ts';
import type { ModelWork, Run } from '../run.ts';
import type { Services } from '../services.ts';
import { limitEnding, nextStep, type Step } from '../state/next-step.ts';
import type { Ending } from '../state/outcome.ts';
import { findOpenRequest, findOpenRequestFor, type RunState, settledPhase } from '../state/state.ts';
import { judgeToolCalls } from '../tool-calls/judge.ts';
import { redactPart } from '../tool-calls/original-arguments.ts';
import { runToolCalls, type ToolSessionState } from '../tool-calls/tool-execution.ts';
import { planCall } from './call-plan.ts';
import { switchToCheaper } from './cheaper-model.ts';
import { findSummariser, planContext } from './context-space.ts';
import { type Loop, type LoopStepResult, recordWithoutWaiting } from './loop-context.ts';
import { attemptModelCall, buildNextRequest, estimatedOutput } from './model-call.ts';
import { handleFailure } from './model-failure.ts';

/** The run was paused before the calls of an answer were judged. */
const unjudged: ModelFailure = {
  error: { code: 'paused', message: 'the run was paused before its calls were judged', retryable: true },
  limited: false,
  retryAfterMs: null,
};
const zeroAmount = { tokens: 0, costUsd: 0 };

/** Runs the loop. Null if the run was stopped from outside. */
export async function runLoop(
  run: Run,
  { pinned, tools }: { pinned: PinnedParts; tools: ToolSessionState },
  services: Services,
): Promise<Ending | null> {
  const { model, fallbacks } = run.work as ModelWork;
  const lane = services.lanes.lane(model.lane, model.account);
  const loop: Loop = {
    ...{
      run,
      state: run.state,
      services,
      tools,
      pinned,
      model,
      lane,
      isHelper: false,
      plan: planCall(run, { model, isHelper: false }, services),
    },
    ...{ fallbacks: [...fallbacks], instead: null, compactionRefusedAt: null, mustStream: false },
  };
  for (;;) {
    if (isPauseDue(run)) await waitWhilePaused(run, services);
    if (run.signal.aborted) return null;
    const result = await takeStep(loop, nextStep(run.state));
    if (result !== 'continue') return result;
  }
}

async function takeStep(loop: Loop, step: Step): Promise<LoopStepResult> {
  const { run, services, tools } = loop;
  switch (step.do) {
    case 'tools':
      await runToolCalls(run, step.calls, tools, services);
      return 'continue';
    case 'ask':
      return step.purpose === 'compact' ? compact(loop) : askModel(loop, step);
    case 'compact':
      recordWithoutWaiting(loop, step.draft);
      // The rules of folders are no longer in the conversation.
      run.foldersSeen.clear();
      return 'continue';
    case 'nudge':
      recordWithoutWaiting(loop, step.draft);
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

/** Why the model is asked. `budget`: the shared budget whose limit is the cause. */
interface ModelAsk {
  purpose: Purpose;
  cause: LimitCause | null;
  budget?: string | null | undefined;
}

/** Gets one answer from the model. Failed attempts are retried as `handleFailure` decides. */
async function askModel(loop: Loop, ask: ModelAsk): Promise<LoopStepResult> {
  const { purpose, cause, budget: budgetName = null } = ask;
  const { run, state } = loop;
  const { budget, signal, slot } = run;
  if (!slot.isHeld && !(await slot.ensure())) return null;
  loop.plan = planCall(run, loop, loop.services);
  const request = buildNextRequest(loop, purpose, cause);
  if (purpose !== 'compact' && findOpenRequest(state) === null) {
    const isRefused = loop.compactionRefusedAt === state.guards.turns;
    const context = planContext(
      run,
      { model: loop.model, thinking: loop.plan.thinking, requestBytes: request.bytes, isRefused: isRefused || purpose !== 'turn' },
      loop.services,
    );
    if (context.do === 'compact') return compact(loop);
    if (context.calls.length > 0) recordWithoutWaiting(loop, { type: 'context.pruned', data: { calls: context.calls } });
  }
  const expected = { input: Math.ceil(request.bytes / 3), output: estimatedOutput, cached: 0, reasoning: 0, estimated: true };
  const estimate = usageToAmount(loop, expected);
  const isFirst = state.guards.turns === 0;
  // Reserve enough for a wrap-up call, except on the first call.
  const headroom = (purpose === 'turn' && !isFirst) || purpose === 'compact' ? estimate : zeroAmount;
  const reservation = await budget.reserve(estimate, { headroom, signal });
  if (!reservation.ok) {
    const { shared } = reservation;
    if (reservation.cause === 'aborted') return null;
    const instead = reservation.cause === 'max_cost' && purpose !== 'compact' ? await switchToCheaper(loop, expected) : null;
    if (instead) {
      loop.instead ??= instead;
      return askModel(loop, ask);
    }
    if (shared?.whenExceeded === 'pause') {
      pauseForBudget(run, shared, loop.services);
      return 'continue';
    }
    const refusedBy = shared?.budget ?? null;
    if (purpose === 'compact') return skipCompaction(loop, reservation.cause, refusedBy);
    if (purpose !== 'turn' || isFirst)
      return cause === null ? limitEnding(reservation.cause, state, refusedBy) : limitEnding(cause, state, budgetName);
    return askModel(loop, { purpose: 'wrap-up', cause: reservation.cause, budget: refusedBy });
  }
  let spent = zeroAmount;
  try {
    for (;;) {
      if (isPauseDue(run)) await waitWhilePaused(run, loop.services);
      if (!slot.isHeld && !(await slot.ensure())) return null;
      const result = await attemptModelCall(loop, { purpose, cause, budget: budgetName, request });
      if (result === null) return null;
      const usage = result.ok ? result.answer.usage : result.usage;
      const used = usage ? usageToAmount(loop, usage, result.ok ? result.answer.written : null) : zeroAmount;
      spent = { tokens: spent.tokens + used.tokens, costUsd: spent.costUsd + used.costUsd };
      if (result.ok) return await recordAnswer(loop, result.answer, purpose);
      const next = await handleFailure(loop, result);
      // A compaction is over, or comes before the next attempt.
      if (findOpenRequestFor(state, purpose) === null || nextPurpose(state) !== purpose) return next;
      if (next === 'continue') continue;
      // If the wrap-up fails, report the limit, not its error.
      return next && cause ? limitEnding(cause, state, budgetName) : next;
    }
  } finally {
    reservation.settle(spent);
  }
}

function nextPurpose(state: RunState): Purpose | null {
  const step = nextStep(state);
  return step.do === 'ask' ? step.purpose : null;
}

/** Asks for a summary of the conversation. The run continues without one if the call fails. */
async function compact(loop: Loop): Promise<LoopStepResult> {
  const { run, state, services, model: own } = loop;
  const requestBytes = buildNextRequest(loop, 'compact', null).bytes;
  const model = await findSummariser(run, { own, named: findOpenRequestFor(state, 'compact')?.model ?? null, requestBytes }, services);
  const summarising = { ...loop, model, lane: services.lanes.lane(model.lane, model.account), isHelper: model.id !== own.id };
  const result = await askModel(summarising, { purpose: 'compact', cause: null });
  loop.compactionRefusedAt = summarising.compactionRefusedAt;
  loop.mustStream = summarising.mustStream;
  return result;
}

/** The budget has no room for a compaction: the next turn decides what follows. After a refused request there is none. */
function skipCompaction(loop: Loop, cause: LimitCause, budget: string | null): LoopStepResult {
  const { state } = loop;
  if (settledPhase(state).name === 'asking') return limitEnding(cause, state, budget);
  const asked = findOpenRequest(state);
  loop.compactionRefusedAt = state.guards.turns;
  if (asked) {
    const error = { code: cause, message: 'the budget has no room for a compaction', retryable: false };
    const { attempt, turn } = asked;
    recordWithoutWaiting(loop, {
      type: 'model.failed',
      data: { again: false, attempt, costUsd: null, error, fallback: null, text: '', turn, usage: null },
    });
  }
  return 'continue';
}

async function recordAnswer(loop: Loop, answer: ModelAnswer, purpose: Purpose): Promise<LoopStepResult> {
  const { run, state, plan, services } = loop;
  const turn = state.guards.turns + 1;
  const isTurn = purpose === 'turn';
  // Calls in a wrap-up, a summary or a compaction are ignored.
  const parts = isTurn ? answer.content : answer.content.filter((part) => part.type !== 'tool-call');
  const content = parts.flatMap((part) => redactPart(part, services.redact));
  const originals = toolCallParts(parts).map((part) => part.input);
  const calls = isTurn ? await judgeToolCalls({ content, originals, turn }, run, services) : [];
  // The resumed run asks again.
  if (calls === null) return handleFailure(loop, { ok: false, aborted: true, failure: unjudged, text: '', usage: answer.usage });
  const costUsd = plan.price ? plan.price(answer.usage, answer.written) : null;
  const dropped = isTurn ? answer.dropped : 0;
  const answered: Draft = { type: 'model.answered', data: { content, costUsd, dropped, finish: answer.finish, turn, usage: answer.usage } };
  const isBarrier = toolCallParts(content).length > 0;
  const durable = run.record([answered, ...calls], { canWait: !isBarrier });
  if (isBarrier) await durable;
  return 'continue';
}

function usageToAmount({ plan }: Loop, usage: Usage, written: number | null = null): { tokens: number; costUsd: number } {
  return { tokens: usage.input + usage.output, costUsd: plan.price?.(usage, written) ?? 0 };
}
